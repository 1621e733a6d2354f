// Package accesslog reads the records of exchanges the engine leaves in shared
// memory, and writes them where each farm wants its access log.
//
// # The way of a line
//
//	Pump.Run       takes records out of the rings, as soon as a quarter is full
//	formatter      makes a line of a record, as the farm's log wants it
//	sink           collects lines into chunks, and hands those over
//	output         writes chunks: a file, a syslog target, standard output
//	Watch          shows the exchanges of a farm as they end
//
// # Ownership
//
// The goroutine of Run owns the reader, the formatters and the chunk each sink
// is filling. Every sink has a goroutine of its own that owns its output, so a
// disk that hangs or a target that is dead holds up neither the others nor the
// rings. Between both is a queue of QueueChunks chunks.
//
// # Bounds
//
// What a queue has no room for is dropped and counted, and so is what an output
// does not take. Watchers get at most watchRate lines a second, and are told
// how many they missed.
//
// # Injection
//
// Everything in a record may have been written by a client, or by an engine in
// foreign hands. A line holds printable ASCII only: quotes, control bytes and
// everything else are escaped, so that no request can end its line, forge
// another, or speak to a terminal. Values of headers and parameters that let
// their owner in are masked.
package accesslog
