// Package acme gets certificates from an authority that speaks ACME (RFC 8555),
// Let's Encrypt unless told otherwise, and renews them.
//
//	Order ─► account ─► order ─┬► Responder ─► engine answers ─► authority ─► certs.Upload
//	                           │   (every http farm, or one for a moment)
//	                           └► hook ─► DNS, seen at the zone's servers ─┘
//
// A Manager orders and renews, one certificate at a time, and each within a
// bounded time. A Responder holds the answers to the authority's questions while an
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
// # The two challenges
//
// With http-01 the port is 80, because authorities ask nowhere else. With
// dns-01, which wildcards need, a program of the operator makes TXT records: the
// hook. It is chosen by its name among the files of hook.Folder that belong to
// the operator, so that no key and no document can name another program. It is
// called "present" for each record, all of them before the authority is told;
// then the records are looked for at every server of their zone; and whatever
// came of it the hook is called "cleanup" for each. A call has a minute, its
// output is cut, and nothing of its process group outlives it.
//
// # Secrets
//
// The key of the account, one for each directory, is sealed with the node key
// and never leaves this package; the key of a certificate is made here and
// handed to mgmt/certs.
//
// # Goroutines
//
// Manager and Responder are for many goroutines. Run is the daily look for what is
// due and the only goroutine of the package.
package acme
