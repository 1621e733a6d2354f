// Package accesslog transfers information about each exchange from the loops of an
// engine to mgmt: bounded records in rings in shared memory. The engine can neither
// open files nor wait, so it does not format or write logs.
//
// # From loop to log
//
//	Entry         on the loop: filled during the exchange
//	Writer.Put    on the loop: copied into the ring of the loop, or counted as dropped
//	Reader.Drain  in mgmt: copied out of the ring, validated, passed on
//
// # Concurrency
//
// Each loop has its own ring with one producer, the loop, and one consumer, the Reader.
// The producer moves the head and the consumer the tail, without locks. A record exists
// once the head has moved past it. An engine that dies during a write leaves no partial
// record, and its successor continues there. A reader moves the tail before it uses the
// records, so none is read twice. Its successor counts records that it took without
// acknowledging them as lost.
//
// # Limits
//
// A ring has RingSize bytes. A record without room is dropped and counted, so a log
// without a reader costs a loop nothing. The reader polls a few times a second and is
// woken when a ring is a quarter full. Put does not allocate, and makes a system call
// only for that wake-up.
//
// # Validation
//
// The engine faces the network and is not trusted. The reader copies a record before it
// parses it, checks every length against its limit, and skips to the head on any error.
package accesslog
