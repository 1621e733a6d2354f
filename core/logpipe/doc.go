// Package logpipe brings what one process logs to another one.
//
// Only mgmt may speak to syslog servers, and what engine, netd and the supervisor
// log is of interest there too. So each of them has a pipe to mgmt:
//
//	Tap      a slog.Handler that hands every record on as text, beside logging it
//	Writer   writes a Record into the pipe, at once or not at all
//	Read     reads Records from the other end
//
// # Bounds
//
// Who writes never waits. A record is one write of at most MaxRecord bytes, which
// the kernel makes whole or not at all; one that finds the pipe full is left out,
// counted, and told of in front of the next. The supervisor holds both ends, so
// that what was logged while mgmt was away, and why a process died, is read by the
// next mgmt.
//
// # What is believed
//
// Each process has a pipe of its own: one that was captured can write what it likes
// there, but not in the name of another. What it says beside records, as when it dies,
// the supervisor passes on as said by it. What is no record is passed on as the text it
// is. A reader takes so many records a second and leaves the others where they are: who
// writes more than that only loses its own.
package logpipe
