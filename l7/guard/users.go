package guard

import (
	"bytes"
	"hash/maphash"
	"maps"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/password"
)

// Users are those a service lets in. Immutable.
type Users struct {
	hashes map[string][]byte
	decoys [][]byte // as many as users, so that their costs are spread alike
	seed   maphash.Seed
}

// NewUsers returns the users of a list, nil for none.
func NewUsers(list []farm.AuthUser) *Users {
	if len(list) == 0 {
		return nil
	}
	u := &Users{hashes: make(map[string][]byte, len(list)), seed: maphash.MakeSeed()}
	for _, user := range list {
		if len(user.Hash) != password.HashLength {
			continue // nobody checked it: nobody gets in by it
		}
		u.hashes[user.Name] = []byte(user.Hash)
		u.decoys = append(u.decoys, []byte(password.Decoy(user.Hash)))
	}
	return u
}

// Same reports whether both let the same users in by the same passwords.
func (u *Users) Same(other *Users) bool {
	return u == other || maps.EqualFunc(u.hashes, other.hashes, bytes.Equal)
}

// hash is what the password of a user is compared with. That of a name nobody
// has is always the same decoy.
func (u *Users) hash(name []byte) (hash []byte, known bool) {
	if hash, known = u.hashes[string(name)]; known {
		return hash, true
	}
	return u.decoys[maphash.Bytes(u.seed, name)%uint64(len(u.decoys))], false
}
