// Package accesslog carries what is known of each exchange from the loops of
// an engine to mgmt: fixed-bound records in rings in shared memory. The engine
// can open no file and must wait for nobody, so it formats and writes nothing.
//
// # The way of a record
//
//	Entry         on the loop: filled while the exchange goes on
//	Writer.Put    on the loop: copied into the ring of the loop, or counted
//	Reader.Drain  in mgmt: copied out of the ring, checked, handed on
//
// # Who owns what
//
// Each loop has a ring of its own with one producer, that loop, and one
// consumer, the Reader. The producer moves the head, the consumer the tail;
// nothing is locked. A record is there once the head was moved past it: an
// engine that dies in the middle leaves nothing behind, and the next one goes
// on where it was. A reader that dies has moved the tail before it used what it
// took, so nothing is read twice; what it took and did not account for is
// counted as lost by the next one.
//
// # Bounds
//
// A ring has RingSize bytes. A record that finds no room is dropped and
// counted, so a log nobody reads costs a loop nothing. The reader looks a few
// times a second; it is woken when a quarter of a ring is full. Put allocates
// nothing and makes a system call only then.
//
// # What is not believed
//
// The engine faces the network. The reader copies a record before it looks at
// it, checks every length against its bound, and goes on at the head when
// something does not fit.
package accesslog
