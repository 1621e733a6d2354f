// Package proxyproto reads and writes PROXY protocol headers (proxy-protocol.txt of
// HAProxy, versions 1 and 2).
//
// # Reading
//
// A Parser consumes the bytes of a connection in pieces of any size and returns how
// many belong to the header. The bytes after them are the client's. It consumes nothing
// until a signature is complete, so bytes that turn out to be no header remain for the
// next reader.
//
//	var p proxyproto.Parser
//	n, done, err := p.Feed(b) // b[:n] is consumed
//	if done { use(p.Header()) }
//
// It does not allocate and stores at most MaxV1 bytes.
//
// An Intake does this for a connection of a loop; Expect returns the farm's policy for
// the peer. Bytes after the header stay in the socket.
//
// # What is accepted
//
// Only headers that conform to the specification are accepted. A header of version 1
// has at most MaxV1 bytes. One of version 2 has at most MaxV2, which is our own limit;
// the format allows 64 KiB. The TLVs of version 2 must fill the header exactly. They
// are skipped, except that a checksum (PP2_TYPE_CRC32C) must be correct. With LOCAL,
// UNKNOWN and non-TCP addresses the connection keeps its own address.
package proxyproto

import "net/netip"

// Version is a version of the header; the zero value means none.
type Version uint8

const (
	V1 Version = 1 // a line of text
	V2 Version = 2 // binary
)

const (
	// MaxV1 is the maximum length of a header of version 1, including CRLF.
	MaxV1 = 107
	// MaxV2 is the maximum length of a header of version 2.
	MaxV2 = 4096
)

// Header is the content of a header.
type Header struct {
	Version Version
	// Source is the client's address and Destination the address it connected to. Both
	// are invalid with LOCAL, UNKNOWN and non-TCP addresses. IPv4 is never mapped to
	// IPv6.
	Source, Destination netip.AddrPort
}
