// Package snapshot transfers immutable configurations, called generations, from mgmt to
// the engines.
//
// mgmt calls Publish, which checks the configuration, encodes it and writes the bytes to
// sealed memory. The engine receives the descriptor over the control connection and calls
// Load, which verifies, decodes and checks again. The result of Load does not refer to the
// shared memory.
//
// A snapshot is a header and a CBOR body. All numbers are little-endian:
//
//	0   magic "SLUICE\x00S"
//	8   layout version, 4 bytes; covers the whole header except the magic
//	12  kind, 4 bytes: 0 whole, 1 follows
//	16  generation, 8 bytes
//	24  length of the body in bytes, 8 bytes
//	32  SHA-256 of the header up to here followed by the body
//	64  body: the CBOR map of a farm.Config, with the names of its json tags
//
// The records of a zone with at least packFrom records are packed in runs
// (farm.AppendPacked). An engine keeps each run as one string. Separate Record values
// would take four times the memory.
//
// The body of a snapshot of kind "follows" lists the farms that stay and contains the
// others (see following). Digests identify the base and the result, so the snapshot either
// yields the written configuration or is refused. The first snapshot for an engine, and
// the next one after a refusal, are whole.
//
// A changed farm with packed records is written as its head plus the runs that its base
// lacks. The head contains the SHA-256 of each run instead of the run, after a byte that
// no configured text contains. The digest of the farm is the digest of its head. A changed
// record therefore costs both sides the hash of one run and of the list of digests. The
// digest is the root of a hash tree over all records in order, so farms with the same
// digest are equal. The writer decides where runs begin and end. It drops the bytes of
// published runs and packs the records again for another whole snapshot.
//
// The body is decoded strictly. The decoder refuses unknown or duplicate names, tags,
// indefinite lengths, and more depth or elements than a configuration can have. An engine
// therefore never runs a partly understood configuration. A change of the farm types
// changes Layout.
//
// Page is a small page of shared memory with the published, acknowledged and refused
// generations.
//
// All functions may be called from any goroutine.
package snapshot
