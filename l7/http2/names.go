package http2

import "encoding/binary"

// kind classifies a field for this package.
type kind uint8

const (
	kindPlain      kind = iota
	kindBadName         // malformed
	kindBadValue        // malformed
	kindConnection      // connection-specific: malformed in HTTP/2
	kindTE
	kindHost
	kindCookie
	kindLength
	kindKey // Sec-WebSocket-Key
	kindPseudo
	kindMethod
	kindScheme
	kindAuthority
	kindPath
	kindProtocol
	kindStatus
)

// pseudo reports whether the name begins with a colon.
func (k kind) pseudo() bool { return k >= kindPseudo }

// kindOf classifies a lower-case name.
func kindOf(name []byte) kind {
	if len(name) == 0 {
		return kindBadName
	}
	if name[0] == ':' {
		return pseudoOf(name)
	}
	switch string(name) {
	case "te":
		return kindTE
	case "host":
		return kindHost
	case "cookie":
		return kindCookie
	case "content-length":
		return kindLength
	case "sec-websocket-key":
		return kindKey
	case "upgrade", "connection", "keep-alive", "proxy-connection", "transfer-encoding":
		return kindConnection
	}
	if !validName(name) {
		return kindBadName
	}
	return kindPlain
}

func pseudoOf(name []byte) kind {
	switch string(name) {
	case ":method":
		return kindMethod
	case ":scheme":
		return kindScheme
	case ":authority":
		return kindAuthority
	case ":path":
		return kindPath
	case ":protocol":
		return kindProtocol
	case ":status":
		return kindStatus
	}
	return kindPseudo
}

// Classes of bytes in names and targets.
const (
	byteLower  = 1 << iota // in lower-case tokens: field names
	byteUpper              // in upper-case tokens: methods
	byteTarget             // in paths and authorities
)

var byteClass = func() (t [256]uint8) {
	for c := range t {
		if c > 0x20 && c != 0x7f && c != '#' {
			t[c] |= byteTarget
		}
	}
	for _, c := range "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz" {
		t[c] |= byteLower
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c] |= byteUpper
	}
	return t
}()

// consists reports whether b is not empty and all its bytes are of a class.
func consists(b []byte, class uint8) bool {
	for _, c := range b {
		if byteClass[c]&class == 0 {
			return false
		}
	}
	return len(b) > 0
}

// validName reports whether name is a token in lower case (RFC 9113 section
// 8.2.1, and as strict as RFC 9110 for what becomes a line of HTTP/1.1).
func validName(name []byte) bool { return consists(name, byteLower) }

// Eight bytes are looked at with one load, see l7/http1.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// validValue reports whether v is free of control bytes other than tabs, and of blanks at its
// ends (RFC 9113 section 8.2.1).
func validValue(v []byte) bool {
	if n := len(v); n > 0 && (blank(v[0]) || blank(v[n-1])) {
		return false
	}
	for len(v) >= 8 {
		x := binary.LittleEndian.Uint64(v)
		d := x ^ ones*0x7f
		if ((x-ones*0x20)&^x|(d-ones)&^d)&highs != 0 {
			break // a control byte, or a tab: bytes tell
		}
		v = v[8:]
	}
	for _, c := range v {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
