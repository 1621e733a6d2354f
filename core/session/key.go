package session

import (
	"crypto/sha256"
	"encoding/hex"
)

// keyStart is the number of bytes of a long identification that its key begins with.
const keyStart = MaxKey - 2*sha256.Size

// AppendKey appends the key for a client's identification, e.g. the value of a cookie. This
// is the identification itself or, beyond MaxKey bytes, its first 191 bytes and the SHA-256
// of all of it in hex. Tokens often differ at their end only, so truncation would join the
// sessions of many clients.
func AppendKey(dst, identification []byte) []byte {
	if len(identification) <= MaxKey {
		return append(dst, identification...)
	}
	sum := sha256.Sum256(identification)
	return hex.AppendEncode(append(dst, identification[:keyStart]...), sum[:])
}
