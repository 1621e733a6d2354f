// Package accesslog reads the records of exchanges that the engine writes to shared memory,
// and writes them to the access log of each farm.
//
// # The way of a line
//
//	Pump.Run       takes records out of the rings, as soon as a quarter is full
//	formatter      makes a line of a record, in the format of the farm's log
//	sink           collects lines into chunks, and passes them on
//	output         writes chunks: a file, a syslog target, standard output
//	Watch          shows the exchanges of a farm as they end
//
// # Ownership
//
// The goroutine of Run owns the reader, the formatters and the chunk that each sink is
// filling. Every sink has a goroutine of its own that owns its output, so a disk that hangs
// or a target that is down delays neither the others nor the rings. Between the two is a
// queue of QueueChunks chunks.
//
// # Limits
//
// Lines for which a queue has no room are dropped and counted, and so are lines that an
// output cannot write. Watchers get at most watchRate lines a second, and the number of
// lines they missed.
//
// # Injection
//
// Everything in a record may have been written by a client, or by a compromised engine. A
// line contains only printable ASCII. Quotes, control bytes and everything else are
// escaped, so that no request can end its line, forge another one, or send escape sequences
// to a terminal. Values of headers and parameters that are credentials are masked.
package accesslog
