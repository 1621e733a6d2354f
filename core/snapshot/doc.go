// Package snapshot carries one immutable configuration, a generation, from
// mgmt to the engines.
//
// The way of a generation: mgmt calls Publish, which checks the configuration,
// encodes it and freezes the bytes in sealed memory; the descriptor goes to
// the engine over the control connection; the engine calls Load, which
// verifies, decodes and checks again. What Load returned refers to nothing in
// the shared memory.
//
// A snapshot is a header and a CBOR body; all numbers are little-endian:
//
//	0   magic "SLUICE\x00S"
//	8   layout version, 4 bytes; the whole header but the magic belongs to it
//	12  kind, 4 bytes: 0 whole, 1 follows
//	16  generation, 8 bytes
//	24  length of the body in bytes, 8 bytes
//	32  SHA-256 of the header up to here followed by the body
//	64  body: the CBOR map of a farm.Config, names as in its json tags
//
// Records of zones with at least packFrom of them are packed (farm.AppendPacked), in runs.
// An engine keeps them in this form and in one piece each: a Record of its own would take
// four times the memory.
//
// The body of a snapshot that follows another one says which farms of that stay, and has
// the others (following). Both are named by digests over all farms and all else, so that
// it makes the configuration that was written or is refused. The first snapshot for an
// engine is whole, and so is the one after a refusal.
//
// A farm that changed and has packed records is written as its head, with the runs that its
// base does not have. The head has the SHA-256 of each run in its place, behind a byte that
// is in no configured text. The digest of such a farm is that of its head. So a changed
// record costs both sides the hash of one run and of the list of digests, and yet two farms
// with one digest are equal: the digest is the root of a hash tree over all records in their
// order. Where one run ends and
// the next one begins is the writer's choice. It keeps no bytes of runs once they are
// published: another whole snapshot packs the records again.
//
// The body is decoded strictly: unknown or doubled names, tags, indefinite
// lengths and more depth or elements than a configuration can have are
// refused. An engine therefore never runs half of what mgmt meant; a change of
// the farm types is a new Layout.
//
// Page is the small page of shared memory in which both sides tell which
// generation is published, acknowledged and refused.
//
// The functions may be called from any goroutine.
package snapshot
