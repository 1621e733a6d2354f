package guard

import (
	"bytes"
	"encoding/base64"
)

// MaxCredentials bounds user name, colon and password together in bytes.
const MaxCredentials = 512

const scheme = "basic "

// Credentials decodes an Authorization value (RFC 7617) into dst, which has room for
// MaxCredentials bytes. The result ok is false for another scheme and for malformed values:
// lax or unpadded base64, a missing colon, control characters.
func Credentials(dst, value []byte) (credentials []byte, colon int, ok bool) {
	if len(value) <= len(scheme) || !bytes.EqualFold(value[:len(scheme)], []byte(scheme)) {
		return nil, 0, false
	}
	value = bytes.TrimLeft(value[len(scheme):], " ")
	var space [MaxCredentials + 2]byte                                                              // including padding
	if base64.StdEncoding.DecodedLen(len(value)) > len(space) || bytes.ContainsAny(value, "\r\n") { // which Decode skips
		return nil, 0, false
	}
	n, err := strict.Decode(space[:], value)
	if err != nil || n > MaxCredentials {
		return nil, 0, false
	}
	for _, c := range space[:n] {
		if c < ' ' || c == 0x7f {
			return nil, 0, false
		}
	}
	if colon = bytes.IndexByte(space[:n], ':'); colon < 0 {
		return nil, 0, false
	}
	return dst[:copy(dst[:MaxCredentials], space[:n])], colon, true
}

var strict = base64.StdEncoding.Strict()
