// Package tlsconf turns what farms say about TLS into what crypto/tls needs,
// and is where mgmt asks whether it can: the same code decides for both.
//
// # The way of a snapshot
//
//	Store.Begin      the certificates and authorities of a snapshot, by name
//	Build.Listener   farm.TLS → *tls.Config, for the clients of a farm
//	Build.Backend    farm.BackendTLS → Backend, for the backends of a service
//	Build.Commit     the snapshot is in use: what nothing used is forgotten
//
// Everything is kept under the digest of what it was made from, so that the
// next snapshot reads no certificate again that stayed, and a farm of which
// nothing changed keeps its *tls.Config. An error refuses; nothing that is
// missing or unreadable ever turns into a farm that asks for less. What is
// served against the odds, as a certificate that expired, is in
// Build.Warnings.
//
// # Which certificate a client sees
//
// A certificate covers its DNS names and addresses; only without any its
// common name. "*.example.com" covers exactly one label more. Names are
// compared as bytes, ASCII letters regardless of case. Then:
//
//  1. Of the certificates that cover the name, the first of the list decides.
//  2. Those that cover the name by the same entry as that one, both exactly or
//     both by the wildcard, stand side by side: the first with an ECDSA key
//     that the client can use, otherwise the first it can use at all.
//  3. If it can use none of these, the first it can use of all that cover the
//     name; if none, the first of the list, and the handshake fails.
//  4. Without a name, or with one that none covers, the first certificate of
//     the list; if the client cannot use that, one beside it for the first of
//     its names.
//
// It costs two look-ups in a map, however long the list is.
//
// # What is offered
//
// Versions, ciphers and groups are those of the farm, as CheckVersions,
// CheckCiphers and CheckCurves read them; which of those both sides have is
// taken is for crypto/tls to say. A version for which the rest leaves nothing
// is not offered. HTTP/2 is negotiated only where the handshake ends with what
// RFC 9113 §9.2 allows. A client that offers protocols of which none is spoken
// is refused (RFC 7301 §3.2), as by nginx: what was meant for another server
// is not answered by this one.
//
// # Clients and their certificates
//
// crypto/x509 verifies the chain against the authority. An authority with
// CRLs wants one in force for the issuer of each certificate below the one
// that is trusted, as nginx and HAProxy do: when a CRL ends, its issuer's
// certificates are refused until there is a new one. Sessions that are resumed
// are held against the CRLs again.
//
// # Session tickets
//
// Tickets holds the master keys of the process, in memory that may outlive it
// (Keep). What encrypts the tickets of a
// farm is derived from them and from its policy: its ID, what it asks of
// clients, the authority and its CRLs. A ticket therefore outlives snapshots
// and changes of certificates, and means nothing to another farm or under
// other rules (CVE-2025-68121).
//
// # Who owns what
//
// A Build belongs to one goroutine. Everything else may be used by any; what
// handshakes use does not change once it is built, but for ticket keys, which
// the first handshake after a rotation sets. Choosing a certificate allocates
// nothing unless several kinds of keys compete.
package tlsconf
