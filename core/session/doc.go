// Package session remembers which backend a client was given: a table from a
// key (address, cookie, header …) to a backend ID, for one service. All loops
// share it and it survives reloads.
//
// A session lives for its time-to-live after its last use; Get and Put count
// as use. Nothing runs in the background: an expired entry is not found, and
// is removed when it is met or by Sweep, which the owner calls now and then
// with a budget. A full table forgets an old session rather than refuse a new
// one: of a few drawn at random, the one unused for longest. Sessions whose
// client came back are spared: clients that invent keys displace one another. Static
// sessions, which an operator makes, neither expire nor make room.
//
// Times are nanoseconds on any clock that does not go back, as long as one
// table always sees the same clock.
//
// # Why it is sharded
//
// Every Get writes (the time of last use), so one lock would make all loops
// take turns on each request with persistence. The table is cut into up to 256
// shards by the key's hash, each with its own lock held for tens of
// nanoseconds; two loops rarely meet. Shards also bound the longest pause:
// growing the index holds one shard's lock, and whoever looks at all sessions
// holds it for a few at a time.
//
// # Why it is not a map
//
// A million strings in maps are a million pointers for the garbage collector
// to follow in every cycle, paid for by traffic. Entries here hold no pointers
// (keys up to 40 bytes lie inside, of longer ones the rest in slabs of bytes)
// and come in blocks that are never moved, so growth copies only the index. A
// session takes some 70 bytes, one with a key of 132 bytes 170, of 255 bytes 300.
package session
