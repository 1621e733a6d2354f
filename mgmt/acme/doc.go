// Package acme obtains certificates from an ACME authority (RFC 8555), by default Let's
// Encrypt, and renews them.
//
//	Order ─► account ─► order ─┬► Responder ─► engine answers ─► authority ─► certs.Upload
//	                           │   (every http farm, or a temporary one)
//	                           └► hook ─► DNS, seen at the zone's servers ─┘
//
// A Manager orders and renews one certificate at a time, each within a time limit. A
// Responder holds the challenge responses during an order and adds them to snapshots. None
// of this is in the configuration. If the process dies, the first publication of its
// successor has neither responses nor the temporary listener.
//
// mgmt/certs stores the certificate under the name of its first domain, where farms find
// it. A renewal replaces it immediately, without affecting connections. A certificate
// replaced manually since then belongs to the operator and is no longer listed or renewed
// here.
//
// # Challenges
//
// http-01 uses port 80, the only port that authorities contact. For dns-01, which wildcards
// require, an operator program creates TXT records: the hook. It is selected by name among
// the operator's files in hook.Folder, so neither an API key nor a document can choose any
// other program. It is called with "present" for each record. Then the records are queried at
// every name server of their zone before the authority is notified. At the end, even after a
// failure, it is called with "cleanup" for each record. A call has a limit of one minute, its
// output is truncated, and its process group is killed afterwards.
//
// # Secrets
//
// The account key, one for each directory, is sealed with the node key and never leaves
// this package. The key of a certificate is created here and passed to mgmt/certs.
//
// # Goroutines
//
// Manager and Responder are safe for concurrent use. Run performs the daily check and is
// the only goroutine of the package.
package acme
