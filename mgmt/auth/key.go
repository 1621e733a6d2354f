package auth

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/rbac"
)

// key is a valid key.
type key struct {
	name   string // the owner's name for the history
	who    rbac.Identity
	digest [sha256.Size]byte
	// random: the appliance generated it, so it cannot be guessed. Users choose their own
	// keys.
	random bool
}

// byKey identifies the sender by the key of the request. Random keys, and keys that were used
// from this source before, are accepted at once: wrong keys from the same address do not
// delay them. Any other key is a guess. Within the limit of its source it is checked at once;
// beyond that, it waits for its turn.
func (g *Guard) byKey(r *http.Request) (Principal, error) {
	source, text := remote(r)
	k, ok := g.check(r)
	by := Principal{Name: k.name, Source: text, Who: k.who}
	if ok && (k.random || g.used.has(k.digest, source)) {
		return by, nil
	}
	counted, pause, err := g.ledger.beginKey(source)
	if err != nil {
		return Principal{}, err
	}
	wait(r, pause)
	if ok && pause > 0 { // the key may have been revoked, or the rights of its user changed
		k, ok = g.check(r)
		by.Name, by.Who = k.name, k.who
	}
	if !ok {
		if locked := g.ledger.endKey(source, counted, wrong); locked > 0 {
			return Principal{}, &LockedError{Wait: locked}
		}
		return Principal{}, ErrBadCredential
	}
	g.ledger.endKey(source, counted, right)
	g.used.add(k.digest, source)
	return by, nil
}

// wait waits for a time, or until the client leaves.
func wait(r *http.Request, pause time.Duration) {
	if pause <= 0 {
		return
	}
	select {
	case <-time.After(pause):
	case <-r.Context().Done():
	}
}

// check reads the key and finds its owner. Several values are accepted only if they are
// equal: two hops must not read different ones.
func (g *Guard) check(r *http.Request) (k key, ok bool) {
	values := slices.Concat(r.Header.Values(headerKey), r.Header.Values(headerKeyAlt))
	for _, v := range values {
		if v != values[0] {
			return key{}, false
		}
	}
	if values[0] == "" || len(values[0]) > maxSecret {
		return key{}, false
	}
	user, own := g.book.FindKey(values[0])
	k = key{name: user, digest: digest(values[0])}
	if numbered, found := g.keys.FindKey(values[0]); found {
		user, k.name, k.random = numbered.User, fmt.Sprintf("%s (key %d)", numbered.User, numbered.ID), true
	} else if !own {
		return key{}, false
	}
	k.who, ok = g.book.Identity(user)
	return k, ok && k.who.API()
}

// maxUsedKeys limits the number of remembered keys.
const maxUsedKeys = 4096

// usedKeys holds the correct keys of users and their sources. They are in memory only: after
// a restart a key waits for its turn if its source sends wrong keys.
type usedKeys struct {
	mu   sync.Mutex
	seen map[usedKey]struct{}
}

type usedKey struct {
	digest [sha256.Size]byte
	source netip.Prefix
}

func (u *usedKeys) add(digest [sha256.Size]byte, source netip.Addr) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil {
		u.seen = map[usedKey]struct{}{}
	}
	for old := range u.seen { // an arbitrary one is removed
		if len(u.seen) < maxUsedKeys {
			break
		}
		delete(u.seen, old)
	}
	u.seen[usedKey{digest, block(source)}] = struct{}{}
}

func (u *usedKeys) has(digest [sha256.Size]byte, source netip.Addr) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, is := u.seen[usedKey{digest, block(source)}]
	return is
}
