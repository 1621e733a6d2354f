package http2

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"math/rand/v2"
)

// KeySize and acceptSize are the lengths of Sec-WebSocket-Key and Sec-WebSocket-Accept in
// base64.
const (
	KeySize    = 24
	acceptSize = 28
)

// appendKey appends a random Sec-WebSocket-Key, which HTTP/2 does not use and HTTP/1.1
// requires (RFC 8441 section 5). It is a nonce, not a secret.
func appendKey(dst []byte) []byte {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	dst = append(dst, "sec-websocket-key: "...)
	dst = base64.StdEncoding.AppendEncode(dst, raw[:])
	return append(dst, "\r\n"...)
}

// Accepts reports whether accept, a backend's Sec-WebSocket-Accept, matches key, the
// Sec-WebSocket-Key that Handler.Head delivered for a tunnel (RFC 6455 section 4.2.2).
func Accepts(key, accept []byte) bool {
	if len(key) != KeySize || len(accept) != acceptSize {
		return false
	}
	var want [acceptSize]byte
	return string(AppendAccept(want[:0], key)) == string(accept)
}

// AppendAccept appends the Sec-WebSocket-Accept for a key of KeySize bytes.
func AppendAccept(dst, key []byte) []byte {
	const suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	var text [KeySize + len(suffix)]byte
	copy(text[copy(text[:], key):], suffix)
	sum := sha1.Sum(text[:])
	return base64.StdEncoding.AppendEncode(dst, sum[:])
}
