package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"

	"github.com/sluicelb/sluice/core/farm"
)

// Keys holds the keys that a service accepts. It is immutable.
type Keys struct{ sums [][sha256.Size]byte }

// NewKeys returns the keys of a list, or nil if it is empty.
func NewKeys(list []farm.AuthKey) *Keys {
	if len(list) == 0 {
		return nil
	}
	k := &Keys{}
	for _, key := range list {
		var sum [sha256.Size]byte
		if b, err := hex.DecodeString(string(key)); err == nil && copy(sum[:], b) == len(sum) && len(b) == len(sum) {
			k.sums = append(k.sums, sum)
		}
	}
	return k
}

// Holds reports whether the value is one of the keys, without allocation. Its duration
// depends only on the length of the value.
func (k *Keys) Holds(value []byte) bool {
	sum := sha256.Sum256(value)
	found := 0
	for i := range k.sums {
		found |= subtle.ConstantTimeCompare(sum[:], k.sums[i][:])
	}
	return found == 1
}
