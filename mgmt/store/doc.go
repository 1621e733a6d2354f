// Package store keeps the configuration of the appliance on disk: every change
// is one revision, kept with its author, time, reason and difference, and
// beside it what belongs to this node alone: API keys, settings, certificates.
//
// One bbolt file, store.db, holds everything. A commit is one transaction that
// was synced before Commit returns, so a machine that dies at any instant comes
// back with the last acknowledged revision or with the one being written.
//
//	meta       schema → "6"; farm, service, backend → the ID given last; summary (summary.go)
//	current    number → manifest of the current configuration (parts.go)
//	farms      farm ID → farm of the current configuration
//	zones      farm ID, chunk ID → about a thousand records of a large farm of it
//	revisions  number → head, difference, and the change of the configuration
//	keys       id → API key (only its hash)
//	settings   name → value
//	certificates, authorities  name → Certificate, Authority
//	documents  name → a value of another package
//
// Numbers are 8 bytes, big-endian. Values are, but for meta and settings,
// records: a checksum, then what is compressed, which is JSON (record.go), or
// CBOR of revisions and of the current configuration (packed.go; revisions of layout 4 are
// JSON, layout4.go).
//
// A commit writes what changed: the manifest, the changed farms, and of a large farm the
// chunks that changed. A revision holds only the farms that changed, large ones as edits of
// their zones. Every 128th holds the whole configuration, so that one is read by following
// at most 127 changes (chain.go). It does not depend on the parts of the current one:
// either is restored from the other when the disk damages one.
//
// Every page and record is checked before bbolt opens the file (examine.go). A damaged file is
// set aside, and what can be read of it becomes a new one (salvage.go, damage.go).
//
// A Store may be used by many goroutines; writers wait for each other. The
// configurations it returns are shared and must not be changed.
package store
