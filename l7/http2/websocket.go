package http2

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// KeySize is the length of a Sec-WebSocket-Key and acceptSize that of its
// answer, both in base64.
const (
	KeySize    = 24
	acceptSize = 28
)

// appendKey appends a field Sec-WebSocket-Key, which HTTP/2 has no use for and
// HTTP/1.1 must have (RFC 8441 section 5). It is a nonce, no secret.
func appendKey(dst []byte) []byte {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	dst = append(dst, "sec-websocket-key: "...)
	dst = base64.StdEncoding.AppendEncode(dst, raw[:])
	return append(dst, "\r\n"...)
}

// Accepts reports whether accept, the Sec-WebSocket-Accept of a backend, is the
// answer to key, the Sec-WebSocket-Key of the head that Handler.Head brought for
// a tunnel (RFC 6455 section 4.2.2).
func Accepts(key, accept []byte) bool {
	if len(key) != KeySize || len(accept) != acceptSize {
		return false
	}
	var want [acceptSize]byte
	return string(AppendAccept(want[:0], key)) == string(accept)
}

// AppendAccept appends the Sec-WebSocket-Accept for a key of 24 bytes.
func AppendAccept(dst, key []byte) []byte {
	const suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	var text [KeySize + len(suffix)]byte
	copy(text[copy(text[:], key):], suffix)
	sum := sha1.Sum(text[:])
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}
