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
// filling. Every sink has its own goroutine, which owns its output. So a hanging disk or an
// unreachable target delays neither the others nor the rings. A queue of QueueChunks chunks
// connects the two.
//
// # Limits
//
// If a queue is full, or an output cannot write, lines are dropped and counted. Watchers get
// at most watchRate lines a second, and the number of lines they missed.
//
// # Injection
//
// Every text in a record may come from a client, or from a compromised engine. A line
// contains only printable ASCII. Quotes, control bytes and everything else are escaped, so
// that no request can end its line, forge another one, or send escape sequences to a
// terminal. Values of headers and parameters that are credentials are masked.
package accesslog
