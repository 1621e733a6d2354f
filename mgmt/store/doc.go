// Package store keeps the configuration of the appliance on disk: every change
// is one revision, kept with its author, time, reason and difference, and
// beside it what belongs to this node alone: API keys, settings, certificates.
//
// One bbolt file, store.db, holds everything. A commit is one transaction that
// was synced before Commit returns, so a machine that dies at any instant comes
// back with the last acknowledged revision or with the one being written.
//
//	meta       schema → "5"; farm, service, backend → the ID given last; summary (summary.go)
//	current    number → revision, whole configuration
//	revisions  number → head, difference, and the change of the configuration
//	keys       id → API key (only its hash)
//	settings   name → value
//	certificates, authorities  name → Certificate, Authority
//	documents  name → a value of another package
//
// Numbers are 8 bytes, big-endian. Values are, but for meta and settings,
// records: a checksum, then what is compressed, which is JSON (record.go), or
// CBOR of revisions (packed.go; those of layout 4 are JSON, layout4.go). A
// revision holds only the farms that changed; every 32nd holds the whole
// configuration, so that one is read by following at most 31 changes (chain.go).
//
// Every page and record is checked before bbolt opens the file (examine.go). A damaged file is
// set aside, and what can be read of it becomes a new one (salvage.go, damage.go).
//
// A Store may be used by many goroutines; writers wait for each other. The
// configurations it returns are shared and must not be changed.
package store
