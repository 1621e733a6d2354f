// Package session implements persistence: a table per service that maps a key (address,
// cookie, header …) to a backend ID. All loops share a table, and it survives reloads.
//
// A session lives for its TTL after its last use; Get and Put count as use. There is no
// background work. An expired entry is not returned. It is removed when it is found, or
// by Sweep, which the owner calls periodically with a budget. A full table evicts an
// old session to insert a new one: the one unused for longest among a random sample.
// Sessions of returning clients are spared, so clients that invent keys evict only each
// other. Static sessions, which an operator configures, neither expire nor are evicted.
//
// Times are nanoseconds of any monotonic clock. Each table must always use the same
// clock.
//
// # Sharding
//
// Every Get writes the time of last use, so a single lock would serialise all requests
// with persistence. The table is divided into up to 256 shards by the key's hash. Each
// shard has a lock that is held for tens of nanoseconds, and two loops rarely contend.
// Shards also bound the longest pause. Growing the index locks one shard, and a scan
// locks one for a few sessions at a time.
//
// # Memory layout
//
// Maps with a million string keys would hold a million pointers, which the garbage
// collector follows in every cycle. Entries here contain no pointers. Keys of up to 40
// bytes lie in the entry; the rest of longer ones lies in slabs. Entries are allocated
// in blocks that never move, so growth copies only the index. A session takes about 70
// bytes, with a key of 132 bytes 170, and with 255 bytes 300.
package session
