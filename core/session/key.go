package session

import (
	"crypto/sha256"
	"encoding/hex"
	"unicode/utf8"
)

// keyStart is the maximum number of bytes of a long identification that its key begins with.
const keyStart = MaxKey - 2*sha256.Size

// AppendKey appends the key for a client's identification, e.g. the value of a cookie. This
// is the identification itself or, beyond MaxKey bytes, its first 191 bytes and the SHA-256
// of all of it in hex. Tokens often differ at their end only, so truncation would join the
// sessions of many clients. A character that byte 191 splits is omitted, so that the key of a
// UTF-8 text is one, too: sessions are shown, stored and named as texts.
func AppendKey(dst, identification []byte) []byte {
	if len(identification) <= MaxKey {
		return append(dst, identification...)
	}
	sum := sha256.Sum256(identification)
	return hex.AppendEncode(append(dst, identification[:startOf(identification)]...), sum[:])
}

// startOf returns the number of bytes that the key of a long identification begins with.
func startOf(identification []byte) int {
	for n := keyStart; n > keyStart-utf8.UTFMax; n-- {
		if utf8.RuneStart(identification[n]) {
			return n
		}
	}
	return keyStart // no UTF-8
}
