package guard

import (
	"bytes"
	"hash/maphash"
	"maps"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
)

// Users holds the users that a service accepts. It is immutable.
type Users struct {
	hashes map[string][]byte
	decoys [][]byte // as many as users, with the same distribution of costs
	seed   maphash.Seed
}

// NewUsers returns the users of a list, or nil if it is empty.
func NewUsers(list []farm.AuthUser) *Users {
	if len(list) == 0 {
		return nil
	}
	u := &Users{hashes: make(map[string][]byte, len(list)), seed: maphash.MakeSeed()}
	for _, user := range list {
		if len(user.Hash) != password.HashLength {
			continue // unverified: it admits nobody
		}
		u.hashes[user.Name] = []byte(user.Hash)
		u.decoys = append(u.decoys, []byte(password.Decoy(user.Hash)))
	}
	return u
}

// Same reports whether both accept the same users and passwords.
func (u *Users) Same(other *Users) bool {
	return u == other || maps.EqualFunc(u.hashes, other.hashes, bytes.Equal)
}

// hash returns the hash for a user name. An unknown name always has the same decoy.
func (u *Users) hash(name []byte) (hash []byte, known bool) {
	if hash, known = u.hashes[string(name)]; known {
		return hash, true
	}
	return u.decoys[maphash.Bytes(u.seed, name)%uint64(len(u.decoys))], false
}
