// Package marks gives the engine sockets that have a mark (SO_MARK), which the
// engine itself may not set.
//
// # The way of a socket
//
// netd, which has the capability, makes unconnected sockets and sends them over
// a unixpacket pair whose ends the supervisor keeps for its whole life. A
// Reserve holds some for every mark and IP version of the published
// configuration; a loop that connects to a backend with a mark takes one of
// them. When half of them are gone, one goroutine asks for more. Loops wait for
// it only when a burst has emptied a reserve, and not for a netd that is gone.
//
// netd makes only the kinds of Published, which mgmt writes down before the
// engine learns of a farm that needs them, and takes out after it has let go of
// it: an engine that was captured gets no other marks and no foreign addresses.
//
// # Losses
//
// Every request may be repeated, and every answer says what its sockets are. A
// request that a dying netd took along is asked again after a time-out; an
// answer that was meant for an engine that died is put to use by the next one.
// Unconnected sockets do not age.
//
// # What it is not
//
// To packet filters that ask for the user of a socket these are root's: netd
// made them.
//
// # What it costs
//
// Descriptors: at most 8,192 for all reserves together, but never less than
// four for each. Taking one: a map, a lock nobody holds for long, no allocation.
package marks
