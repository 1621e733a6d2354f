// Package hello finds the name a TLS client asks for (server_name, RFC 6066
// section 3) in the first bytes of its connection, without ending TLS: the bytes
// are looked at where they are and go on to whoever does.
//
// The ClientHello is read as crypto/tls reads it, as far as its frame goes:
// records, the message, and the list of extensions have to be exact, whatever
// they are split into. What is in extensions other than server_name does not
// matter, those nobody knows (GREASE) included; of an encrypted ClientHello the
// outer name counts, which is what it is there for.
package hello
