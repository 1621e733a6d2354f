// Package stats holds the counters of an engine in shared memory. Each loop writes its
// own shard, and readers in other processes sum the shards.
//
// A counter is a plain uint64 written by exactly one loop, so f.Requests++ is as cheap as for
// any field. Readers load words one by one. Aligned words never tear: a sum may be slightly
// outdated or combine two moments, but every addend is a value that its loop has written.
// Gauges rise and fall on the same loop, and their sums are never negative.
//
// The segment has room for MaxShards loops with every farm and backend ID, over 3 GiB
// of address space. Only touched pages take memory, including pages that are only read.
// Sums therefore visit only shards that were ever in use, and in each only the page of
// the farm or backend.
//
// The engine creates the segment with CreateSegment at start. It calls the Adopt
// functions for every farm and backend of a configuration before its loops use it. mgmt
// opens the segment read-only with OpenSegment. Counters survive a replacement of the
// engine, gauges do not.
package stats
