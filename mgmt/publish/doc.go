// Package publish brings a configuration to the engine: it has netd open the
// listeners the configuration needs and the engine does not hold, hands both
// over in one step, waits for the acknowledgement, and only then lets netd
// close what is not needed any more. It is the apply.Publisher of mgmt.
//
// # Restarts of engine and netd
//
// Engine and netd are processes of their own and may be restarted at any time.
// Run keeps the connection to the engine and asks for a republication as soon
// as a new engine is there, which then holds nothing and gets every listener
// from netd, the same sockets as its predecessor. A netd that restarts disturbs
// nobody: the engine holds the sockets, and the client dials again by itself.
//
// # Farms that cannot listen
//
// An address that no interface has, or a port that is taken, is the problem of
// its farm and is reported in the Outcome; whether that refuses a change is for
// mgmt/apply to judge. Run tries such addresses again every few seconds, so a
// farm starts by itself when its address appears.
//
// # Farms of the kernel
//
// They are given to netd first, as a snapshot of their own, and only when they
// changed; what netd cannot have the kernel carry is the problem of the farm.
// What of that can be told beforehand is asked with Check: a change that is
// refused for it has been in no kernel and has ended no connection.
// Run asks netd now and then what it carries, and publishes again when a netd
// that was restarted knows nothing, or when a problem came or went.
//
// # Sockets with a mark
//
// netd makes them for the engine, of the kinds in Options.Kinds and no others:
// those of both configurations while one takes over from the other, then those
// of the one in force.
//
// # Certificates
//
// A configuration only names them. Options.Complete adds them to a copy, which
// is encoded into sealed memory, sent and dropped. A farm whose certificates
// are missing is published as stopped and has a problem: it never serves with
// less protection than it was configured to have.
//
// # Goroutines
//
// Publish may be called from any goroutine and takes one at a time; mgmt/apply
// calls it under its own lock. State is for any goroutine and never waits;
// Sessions is too, and waits for nobody but the engine.
package publish
