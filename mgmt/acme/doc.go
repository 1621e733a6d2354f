// Package acme gets certificates from an authority that speaks ACME (RFC 8555),
// Let's Encrypt unless told otherwise, and renews them.
//
//	Order ─► account ─► order ─► Board ─► engine answers ─► authority ─► certs.Upload
//	                               │   (every http farm,
//	                               └── or one for a moment)
//
// A Manager orders and renews, one certificate at a time, and each within a
// bounded time. A Board holds the answers to the authority's questions while an
// order is under way and adds them to snapshots. Nothing of that is in the
// configuration: when this process dies, the next publication, which its
// successor begins with, has neither answers nor the listener that was opened
// for them.
//
// The certificate is kept by mgmt/certs under the name of its first domain,
// where farms find it; a renewal replaces it there, in force at once and without
// touching a connection. One that was replaced by hand since is the operator's:
// it is neither listed nor renewed here any more.
//
// # What is not done
//
// Wildcards need the DNS challenge; they are refused. The port is 80, because
// authorities ask nowhere else.
//
// # Secrets
//
// The key of the account, one for each directory, is sealed with the node key
// and never leaves this package; the key of a certificate is made here and
// handed to mgmt/certs.
//
// # Goroutines
//
// Manager and Board are for many goroutines. Run is the daily look for what is
// due and the only goroutine of the package.
package acme
