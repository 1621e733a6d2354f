// Package hello finds the host name (server_name, RFC 6066 section 3) in the first bytes of
// a TLS connection. It does not terminate TLS: the bytes stay where they are and are
// forwarded unchanged.
//
// It is as strict as crypto/tls about the records, the message and the list of extensions,
// in any number of records. It ignores the contents of other extensions, including unknown
// ones (GREASE, RFC 8701). Of an encrypted ClientHello it finds the outer name, which is
// meant for this use.
package hello
