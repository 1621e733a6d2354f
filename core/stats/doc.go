// Package stats is the counters of an engine in shared memory: each loop
// writes a shard of its own, readers in other processes sum the shards.
//
// A counter is a plain uint64 that exactly one loop writes: f.Requests++ costs
// what a field costs. Readers load words one by one; aligned words never tear,
// so a sum may be a moment old or mix two moments, but never shows a value no
// loop ever wrote. Gauges rise and fall on the same loop; a sum is never
// negative.
//
// The segment has room for MaxShards loops with every farm and backend ID, over
// 3 GiB of addresses, but only touched pages take memory. Reading a page for
// the first time takes it too, so sums visit only shards that were ever in use
// and, in each, only the page of the farm or backend asked for.
//
// The engine creates the segment with CreateSegment at start and calls the
// Adopt functions for every farm and backend of a configuration before its
// loops use it; mgmt opens it read-only with OpenSegment. Counters outlive an
// engine that is replaced, gauges do not.
package stats
