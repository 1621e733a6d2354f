package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"math/rand/v2"
	"time"

	"github.com/sluicelb/sluice/core/password"
)

const (
	sets = 1024
	ways = 4
	// knownFor is the time for which verified credentials are not verified again. Up to a
	// quarter is added at random, so that the entries of one morning do not expire together.
	knownFor = int64(time.Hour)
	// refusedFor is the time for which refused credentials are not verified again, as devices
	// repeat an outdated password for days.
	refusedFor = int64(10 * time.Minute)
)

// Digest identifies credentials and the hash they are compared with.
type Digest [16]byte

// Cache is one loop's cache of verified and of refused credentials, each with 4096 entries in
// 100 KiB. Guesses thus do not evict what is verified. Use NewCache.
type Cache struct {
	known   memory
	refused memory
	// attempt holds the secret, the hash, and the last credentials examined.
	attempt [secretLength + password.HashLength + MaxCredentials]byte
	length  int // of the credentials
	colon   int
	exists  bool // the user exists
}

const secretLength = 32

type entry struct {
	digest Digest
	until  int64 // 0: free
}

// NewCache returns a cache for results of the Checker.
func NewCache(c *Checker) *Cache {
	g := &Cache{}
	copy(g.attempt[:], c.secret[:])
	return g
}

// Verdict is the result of a lookup.
type Verdict uint8

// The verdicts.
const (
	Malformed Verdict = iota // the credentials cannot be parsed
	Right                    // they were verified recently
	Wrong                    // they were refused recently
	Unchecked                // see Job
)

// Look looks up an Authorization value without allocation. All caches that exchange results
// must use the same clock for now.
func (g *Cache) Look(u *Users, value []byte, now int64) (Verdict, Digest) {
	at := g.attempt[secretLength+password.HashLength:]
	credentials, colon, ok := Credentials(at, value)
	if !ok || u.decoys == nil {
		return Malformed, Digest{}
	}
	hash, exists := u.hash(credentials[:colon])
	copy(g.attempt[secretLength:], hash)
	g.length, g.colon, g.exists = len(credentials), colon, exists
	sum := sha256.Sum256(g.attempt[:secretLength+password.HashLength+g.length])
	d := Digest(sum[:])
	switch {
	case g.known.holds(&d, now):
		return Right, d
	case g.refused.holds(&d, now):
		return Wrong, d
	}
	return Unchecked, d
}

// User returns the user name of the last credentials examined, valid until the next.
func (g *Cache) User() []byte {
	return g.attempt[secretLength+password.HashLength:][:g.colon]
}

// Learn stores the result of a check in place of the oldest entry.
func (g *Cache) Learn(d Digest, right bool, now int64) {
	if right {
		g.known.store(d, now+knownFor+rand.Int64N(knownFor/4))
	} else {
		g.refused.store(d, now+refusedFor)
	}
}

// memory is a set of digests that expire.
type memory struct {
	entries *[sets][ways]entry // nil before the first
}

func (d *Digest) set() int { return (int(d[14])<<8 | int(d[15])) % sets }

func (m *memory) holds(d *Digest, now int64) bool {
	if m.entries == nil {
		return false
	}
	set := &m.entries[d.set()]
	for i := range set {
		if e := &set[i]; subtle.ConstantTimeCompare(e.digest[:], d[:]) == 1 && now < e.until {
			return true
		}
	}
	return false
}

// store takes the slot that the digest has, or that of the oldest entry.
func (m *memory) store(d Digest, until int64) {
	if m.entries == nil {
		m.entries = new([sets][ways]entry)
	}
	set := &m.entries[d.set()]
	to := &set[0]
	for i := range set {
		e := &set[i]
		if e.digest == d {
			to = e
			break
		}
		if e.until < to.until {
			to = e
		}
	}
	*to = entry{d, until}
}

// Job returns the check required for the last credentials examined.
func (g *Cache) Job() *Job {
	rest := g.attempt[secretLength:]
	j := &Job{exists: g.exists}
	copy(j.hash[:], rest)
	credentials := rest[password.HashLength : password.HashLength+g.length]
	j.password = append(j.password, credentials[g.colon+1:]...)
	return j
}
