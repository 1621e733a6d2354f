// Package proxyproto reads and writes the header of the PROXY protocol, by
// which one proxy tells the next whose connection it passes on
// (proxy-protocol.txt of HAProxy, versions 1 and 2).
//
// # Reading
//
// A Parser takes the bytes of a connection as they come, in pieces of any size,
// and says how many belong to the header: what follows them is the client's.
// As long as no more than a Signature has come it takes none, so that bytes
// that turn out to begin no header are left for whoever they are meant for.
//
//	var p proxyproto.Parser
//	n, done, err := p.Feed(b) // b[:n] is used up
//	if done { use(p.Header()) }
//
// It allocates nothing and keeps at most MaxV1 bytes.
//
// An Intake does that for a connection of a loop, with what a farm expects of
// the peer (Expect), and leaves what follows the header in the socket.
//
// # What is accepted
//
// Exactly what the specification lets senders write. A header of version 1 has
// at most MaxV1 bytes; one of version 2 at most MaxV2, which is our bound: the
// length in it would allow 64 KiB. Of version 2 the TLVs must fill the header
// exactly. They are skipped, but a checksum (PP2_TYPE_CRC32C) must be right.
// LOCAL, UNKNOWN and addresses that are none of TCP leave the connection the
// address it has.
package proxyproto

import "net/netip"

// Version is a version of the header; the zero value stands for none.
type Version uint8

// The versions.
const (
	V1 Version = 1 // a line of text
	V2 Version = 2 // binary
)

const (
	// MaxV1 is the length of the longest header of version 1, with its CRLF.
	MaxV1 = 107
	// MaxV2 bounds a header of version 2.
	MaxV2 = 4096
)

// Header is what a header says.
type Header struct {
	Version Version
	// Source is the client's address and Destination what it connected to;
	// both are valid, or neither when the connection is the sender's own
	// (LOCAL), or one the header cannot speak of. IPv4 is never mapped to IPv6.
	Source, Destination netip.AddrPort
}
