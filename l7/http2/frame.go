package http2

import "encoding/binary"

// A frame (RFC 9113 section 4.1):
//
//	length 24 | type 8 | flags 8 | R 1, stream 31 | payload
const frameHeader = 9

// Types of frames.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9
)

// Flags of frames.
const (
	flagAck        = 0x1 // SETTINGS, PING
	flagEndStream  = 0x1 // DATA, HEADERS
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// Settings (section 6.5.2; RFC 8441 section 3; RFC 9218 section 2.1).
const (
	settingTableSize       = 0x1
	settingPush            = 0x2
	settingStreams         = 0x3
	settingWindow          = 0x4
	settingFrameSize       = 0x5
	settingHeaderList      = 0x6
	settingConnectProtocol = 0x8
	settingNoPriorities    = 0x9
)

const (
	// maxFrame is the largest payload received and sent: the smallest limit a peer may set,
	// and the size of a TLS record.
	maxFrame = 16384
	// initialWindow is the initial size of every window (section 6.9.2).
	initialWindow = 65535
	// maxWindow is the largest window (section 6.9.1).
	maxWindow = 1<<31 - 1
)

// preface starts the connection of a client (section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Preface reports whether b, the first bytes of a connection, begins with the HTTP/2 preface
// (prior knowledge). more means that b is too short to decide. No HTTP/1 request begins that
// way.
func Preface(b []byte) (yes, more bool) {
	n := min(len(b), len(preface))
	if string(b[:n]) != preface[:n] {
		return false, false
	}
	return n == len(preface), n < len(preface)
}

// header is a frame header.
type header struct {
	length int
	kind   uint8
	flags  uint8
	stream uint32
}

// parseHeader parses the first frameHeader bytes of b.
func parseHeader(b []byte) header {
	_ = b[8]
	return header{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   b[3],
		flags:  b[4],
		stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// appendHeader appends a frame header.
func appendHeader(dst []byte, length int, kind, flags uint8, stream uint32) []byte {
	return append(dst, byte(length>>16), byte(length>>8), byte(length), kind, flags,
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// putHeader writes a frame header to b.
func putHeader(b []byte, length int, kind, flags uint8, stream uint32) {
	_ = appendHeader(b[:0], length, kind, flags, stream)
}

func appendUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
