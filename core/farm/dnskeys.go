package farm

import (
	"slices"
	"time"
)

// SigningAlgorithm is what the answers of a zone are signed with (DNSSEC); empty, they are
// not signed.
type SigningAlgorithm string

// The algorithms (RFC 8624 §3.1), called as DNSKEY records have them.
const (
	SignECDSA   SigningAlgorithm = "ecdsap256sha256"
	SignEd25519 SigningAlgorithm = "ed25519"
)

// SignNot is what no algorithm is called.
const SignNot SigningAlgorithm = "off"

// SigningAlgorithms lists every algorithm.
func SigningAlgorithms() []SigningAlgorithm { return []SigningAlgorithm{SignECDSA, SignEd25519} }

// KeyState is what is done with a key of a zone.
type KeyState string

// The states, in the order a key has them.
const (
	KeyPublished KeyState = "published" // resolvers learn it, so that it may sign later
	KeyActive    KeyState = "active"    // it signs
	KeyRetired   KeyState = "retired"   // it signs no more; what it signed may still be kept somewhere
)

// KeyStates lists every state.
func KeyStates() []KeyState { return []KeyState{KeyPublished, KeyActive, KeyRetired} }

// ZoneKey is a key that signs all of a zone (RFC 6781 §3.1.1: a single type of key).
type ZoneKey struct {
	Algorithm SigningAlgorithm `json:"algorithm"`
	State     KeyState         `json:"state"`
	// Since is when it got its state, in seconds since 1970.
	Since int64 `json:"since"`
	// Public is the key as DNSKEY records have it, in base64. Private is it in PKCS #8
	// and base64, sealed wherever it is kept or shown.
	Public  string `json:"public_key"`
	Private Secret `json:"private_key"`
	// DSSeen is since when the parent zone is seen to have its DS record, in seconds since
	// 1970; 0 while it is not, or nobody looks.
	DSSeen int64 `json:"ds_seen,omitempty"`
	// DSTTL is the longest time to live the DS records of the parent zone were seen to have
	// since the key was made.
	DSTTL Seconds `json:"ds_ttl,omitempty"`
}

// SecretZoneKey is what private keys of zones are sealed for.
const SecretZoneKey = "zone key"

// ActiveKey is the key that signs, nil without one.
func (z *Zone) ActiveKey() *ZoneKey { return z.keyIn(KeyActive) }

// NextKey is the key that is to sign next, nil without one.
func (z *Zone) NextKey() *ZoneKey { return z.keyIn(KeyPublished) }

func (z *Zone) keyIn(s KeyState) *ZoneKey {
	if at := slices.IndexFunc(z.Keys, func(k ZoneKey) bool { return k.State == s }); at >= 0 {
		return &z.Keys[at]
	}
	return nil
}

// NextKeyDue is when the next key is made by itself; false where keys have no lifetime, the
// next one is there, or nothing is signed.
func (z *Zone) NextKeyDue() (time.Time, bool) {
	k := z.ActiveKey()
	if k == nil || z.Signing == "" || z.KeyDays == 0 || z.NextKey() != nil {
		return time.Time{}, false
	}
	return time.Unix(k.Since, 0).Add(time.Duration(z.KeyDays) * 24 * time.Hour), true
}

// Learned is when no resolver has a list of keys any more that is without a key, which
// may sign from then on.
func (z *Zone) Learned(k *ZoneKey) time.Time { return z.KeysHeld.Gone(k.Since, z.EffectiveTTL()) }

// Activate has the key at a position sign, and the one that signed retire.
func (z *Zone) Activate(at int, now time.Time) {
	z.Keys = slices.Clone(z.Keys)
	if was := z.ActiveKey(); was != nil {
		was.State, was.Since = KeyRetired, now.Unix()
	}
	z.Keys[at].State, z.Keys[at].Since = KeyActive, now.Unix()
}

// LongestTTL is how long, in seconds, answers of the zone may be kept at most: what a key
// signed may be in use for as long.
func (z *Zone) LongestTTL(g *GSLB) Seconds {
	longest := z.EffectiveTTL()
	for i := range z.Records {
		longest = max(longest, z.Records[i].EffectiveTTL(z))
	}
	for i := range g.Services {
		longest = max(longest, g.Services[i].EffectiveTTL())
	}
	return longest
}
