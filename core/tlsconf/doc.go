// Package tlsconf converts the TLS settings of farms to configurations of crypto/tls.
// mgmt validates settings with the same code.
//
// # From a snapshot to a configuration
//
//	Store.Begin      indexes the certificates and authorities of a snapshot by name
//	Build.Listener   farm.TLS → *tls.Config, for the clients of a farm
//	Build.Backend    farm.BackendTLS → Backend, for the backends of a service
//	Build.Commit     makes the build current and drops unused entries
//
// Everything is cached by the digest of its source. The next snapshot does not parse
// unchanged certificates again, and a farm without changes keeps its *tls.Config.
// Errors reject the snapshot, so missing or unreadable parts cannot weaken a farm's
// requirements. Build.Warnings lists problems that do not prevent service, e.g. an
// expired certificate.
//
// # Certificate selection
//
// A certificate covers its DNS names and addresses, or its common name if it has none
// of these. "*.example.com" covers exactly one additional label. Names are compared as
// bytes, with ASCII letters folded. The selection follows these rules:
//
//  1. The first certificate in the list that covers the name determines the entry.
//  2. All certificates that cover the name by the same kind of entry (both exactly or
//     both by wildcard) are alternatives. The first with an ECDSA key that the client
//     supports wins, otherwise the first that the client supports.
//  3. If the client supports none of these, the first supported certificate that covers
//     the name is used. If there is none, the first that covers it is used, and the
//     handshake fails.
//  4. Without a name, or if no certificate covers it, the first certificate of the list
//     is used. If the client does not support that one, an alternative for the first of
//     its names is used.
//
// The selection costs two map lookups, regardless of the length of the list.
//
// # Offered parameters
//
// Versions, ciphers and groups come from the farm and are parsed by CheckVersions,
// CheckCiphers and CheckCurves. crypto/tls selects among the parameters that both sides
// support. A version without a usable suite or group is not offered. HTTP/2 is
// negotiated only if the handshake satisfies RFC 9113 §9.2. A client whose ALPN
// protocols are all unsupported is rejected (RFC 7301 §3.2), as in nginx. This prevents
// requests for another server from being processed here.
//
// # Client certificates
//
// crypto/x509 verifies the chain against the authority. If an authority has CRLs, a
// current one is required for the issuer of each certificate below the trusted one, as
// in nginx and HAProxy. After a CRL expires, certificates of its issuer are rejected
// until there is a new one. Resumed sessions are checked against the CRLs again.
//
// # Session tickets
//
// Tickets holds the master keys of the process, in memory that may outlive it (Keep).
// The ticket keys of a farm are derived from the master keys and the farm's policy: its
// ID, its client certificate mode, the authority and its CRLs. A ticket therefore
// survives snapshots and certificate changes, but is useless for another farm or policy
// (CVE-2025-68121).
//
// # Concurrency
//
// A Build belongs to one goroutine. Everything else is safe for concurrent use. Data
// used by handshakes is immutable except for ticket keys, which the first handshake
// after a rotation sets. Choosing a certificate does not allocate unless several kinds
// of keys compete.
package tlsconf
