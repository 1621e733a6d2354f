// Package certs manages the certificates of the appliance: those that farms show to clients
// and services to backends, pending CSRs, and the authorities that verify clients and
// backends.
//
//	PEM ─► Parse: blocks, key, chain ─► Manager ─► apply.Renew ─► store
//	                                       │            │
//	                              seal with node.key    └─► Book.Complete ─► snapshot
//
// A Book holds all certificates and authorities. It checks the references of a
// configuration (Check, for apply.References) and adds the referenced certificates to a
// snapshot (Complete). A Manager changes the Book: upload, replace, delete, CSRs. A change
// that affects a running farm is first published and acknowledged. On any failure, the old
// certificate stays in force and in the store.
//
// # Private keys
//
// A key is uploaded or created here. It leaves the process only in the sealed memory for
// the engine. On disk it is encrypted (AES-256-GCM) with the node key, the file node.key
// beside the store. No response, message or log line contains a key. With a lost or foreign
// node key, each affected certificate is unusable and reports the reason; everything else
// keeps working.
//
// # Goroutines
//
// Book and Manager are safe for concurrent use. Entries are immutable: a change replaces
// them. Run refreshes OCSP responses and warns of expiring certificates; it is the only
// goroutine of the package.
package certs
