// Package certs keeps the certificates of the appliance: those farms show to
// clients and services to backends, the CSRs that will become some, and the
// authorities clients and backends are verified by.
//
//	PEM ─► Parse: blocks, key, chain ─► Manager ─► apply.Renew ─► store
//	                                       │            │
//	                              seal with node.key    └─► Book.Complete ─► snapshot
//
// A Book holds all certificates and authorities. It answers what a configuration may name (Check,
// the apply.References), and adds to a snapshot what it does name (Complete).
// A Manager changes the Book: upload, replace, delete, CSRs. A change that
// reaches a running farm is published and acknowledged first; whatever goes
// wrong leaves the old certificate in force and in the store.
//
// # Private keys
//
// A key comes in by an upload or is made here, and leaves in one way only: in
// the sealed memory the engine gets. On disk it is encrypted (AES-256-GCM) with
// the node key, the file node.key beside the store. No answer, message or log
// line has one. A lost or foreign node key makes certificates unusable one by
// one, with the reason; everything else goes on.
//
// # Goroutines
//
// Book and Manager may be used by many goroutines. Entries are immutable: a
// change puts another one in their place. Run refreshes OCSP responses and
// warns of what is about to expire; it is the only goroutine of the package.
package certs
