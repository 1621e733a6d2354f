// Package logpipe transfers log records between processes.
//
// Only mgmt may contact syslog servers, but the logs of engine, netd and the supervisor
// must be sent there, too. Each of them therefore has a pipe to mgmt:
//
//	Tap      a slog.Handler that also passes every record on as text
//	Writer   writes a Record into the pipe or drops it
//	Read     reads Records from the other end
//
// # Limits
//
// Writers never block. A record is one write of at most MaxRecord bytes, which the
// kernel performs atomically. A record that finds the pipe full is dropped and counted,
// and the next record reports the number. The supervisor holds both ends. The next mgmt
// therefore reads records from its own downtime, including the reason why a process
// died.
//
// # Trust
//
// Each process has its own pipe. A compromised process can write anything there, but
// not in the name of another. Output of a process other than records, e.g. of its
// crash, is passed on by the supervisor in its name. Lines that are not records are
// passed on as text. A reader accepts a limited number of records per second and leaves
// the rest in the pipe. A writer that exceeds this loses only its own records.
package logpipe
