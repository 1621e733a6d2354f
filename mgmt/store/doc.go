// Package store keeps the configuration of the appliance on disk. Every change is one revision
// with its author, time, reason and diff. The store also holds data of this node: API keys,
// settings, certificates.
//
// All data is in one bbolt file, store.db. A commit is one transaction that is synced before
// Commit returns. After a crash at any instant the store has the last acknowledged revision or
// the one being written.
//
//	meta       schema → "6"; farm, service, backend → the last ID given; summary (summary.go)
//	current    number → manifest of the current configuration (parts.go)
//	farms      farm ID → farm of the current configuration
//	zones      farm ID, chunk ID → about a thousand records of a large farm of it
//	revisions  number → head, difference, and the change of the configuration
//	keys       id → API key (only its hash)
//	settings   name → value
//	certificates, authorities  name → Certificate, Authority
//	documents  name → a value of another package
//
// Numbers are 8 bytes, big-endian. Values, except in meta and settings, are records: a checksum
// and compressed data (record.go). The data is JSON, or CBOR for revisions and the current
// configuration (packed.go). Revisions of layout 4 are JSON (layout4.go).
//
// A commit writes only changes: the manifest, the changed farms, and the changed chunks of
// large farms. A revision holds the changed farms, large ones as edits of their zones. Every
// 128th holds the whole configuration, so that reading one follows at most 127 changes
// (chain.go). Revisions and the parts of the current configuration are independent: if the disk
// damages one, it is restored from the other.
//
// Every page and record is checked before bbolt opens the file (examine.go). A damaged file is
// set aside, and its readable content becomes a new one (salvage.go, damage.go).
//
// A Store is safe for concurrent use; writers are serialised. The configurations it returns are
// shared and must not be modified.
package store
