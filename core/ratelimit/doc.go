// Package ratelimit limits the request rate of many clients: one table per service maps
// a key (address, header, path) to its consumption. All loops share a table, and it
// survives reloads.
//
// # Algorithm
//
// The generic cell rate algorithm (ITU-T I.371) stores one number per key, the
// theoretical arrival time. Each accepted request advances it by the interval between
// requests at the steady rate. A request is accepted if the time is at most the burst
// ahead of now. Nothing is reset after a period, and nothing runs in the background.
// Any time span admits at most burst + span ÷ interval requests, and a client at the
// steady rate is never rejected. A rejected request consumes nothing.
//
// # Memory layout
//
//	table   256 pages, 4 KiB each, allocated on first use
//	page    32 buckets
//	bucket   8 slots: 128 bytes
//	slot    key (a 64-bit hash), theoretical arrival time: 16 bytes
//
// There is no lock: a slot is charged by one compare-and-swap of its time. After its
// theoretical arrival time, a key has its full burst again, like an unknown key, so its
// slot is free. Keys are hashed with a random seed, so clients cannot provoke
// collisions.
//
// # Attacks with many keys
//
// The memory limit is 1 MiB. If all eight keys of a bucket are in debt, a new key
// evicts the one with the smallest debt. New keys are therefore never rejected because
// of others. A key at its limit is evicted only after the seven others of its bucket
// have the same debt. That takes about Slots × burst accepted requests within the time
// in which the burst is paid off. With up to a quarter of Slots keys in debt, fewer
// than one in a thousand is evicted. An evicted key starts from zero: the table errs
// towards acceptance.
//
// Loops that use the same bucket within the same nanoseconds may lose or misplace the
// charge of one request each. This can only happen while a key gains or loses its slot.
package ratelimit
