package farm

import (
	"slices"
	"time"
)

// SigningAlgorithm is the DNSSEC algorithm of a zone; empty means unsigned.
type SigningAlgorithm string

// The algorithms (RFC 8624 §3.1), with the names used in DNSKEY records.
const (
	SignECDSA   SigningAlgorithm = "ecdsap256sha256"
	SignEd25519 SigningAlgorithm = "ed25519"
)

// SignNot is the word for no algorithm.
const SignNot SigningAlgorithm = "off"

// SigningAlgorithms lists every algorithm.
func SigningAlgorithms() []SigningAlgorithm { return []SigningAlgorithm{SignECDSA, SignEd25519} }

// KeyState is the state of a zone key.
type KeyState string

// The states, in the order of a key's life.
const (
	KeyPublished KeyState = "published" // published, so that it can sign later
	KeyActive    KeyState = "active"    // signs
	KeyRetired   KeyState = "retired"   // no longer signs, but its signatures may still be cached
)

// KeyStates lists every state.
func KeyStates() []KeyState { return []KeyState{KeyPublished, KeyActive, KeyRetired} }

// ZoneKey is a key that signs all of a zone (RFC 6781 §3.1.1: a single type of key).
type ZoneKey struct {
	Algorithm SigningAlgorithm `json:"algorithm"`
	State     KeyState         `json:"state"`
	// Since is when it entered its state, in Unix seconds.
	Since int64 `json:"since"`
	// Public is the key as in DNSKEY records, in base64. Private is the PKCS #8 key in
	// base64, sealed when stored or shown.
	Public  string `json:"public_key"`
	Private Secret `json:"private_key"`
	// DSSeen is since when the parent zone has the DS record, in Unix seconds, or 0 if it
	// does not or this is unknown.
	DSSeen int64 `json:"ds_seen,omitempty"`
	// DSTTL is the longest TTL seen of the parent's DS records since the key was made.
	DSTTL Seconds `json:"ds_ttl,omitempty"`
}

// SecretZoneKey is the sealing purpose of private zone keys.
const SecretZoneKey = "zone key"

// ActiveKey returns the signing key, or nil.
func (z *Zone) ActiveKey() *ZoneKey { return z.keyIn(KeyActive) }

// NextKey returns the next signing key, or nil.
func (z *Zone) NextKey() *ZoneKey { return z.keyIn(KeyPublished) }

func (z *Zone) keyIn(s KeyState) *ZoneKey {
	if at := slices.IndexFunc(z.Keys, func(k ZoneKey) bool { return k.State == s }); at >= 0 {
		return &z.Keys[at]
	}
	return nil
}

// NextKeyDue returns when the next key is generated automatically. It returns false if keys
// have no lifetime, the next key exists or the zone is unsigned.
func (z *Zone) NextKeyDue() (time.Time, bool) {
	k := z.ActiveKey()
	if k == nil || z.Signing == "" || z.KeyDays == 0 || z.NextKey() != nil {
		return time.Time{}, false
	}
	return time.Unix(k.Since, 0).Add(time.Duration(z.KeyDays) * 24 * time.Hour), true
}

// Learned returns when all cached key sets without this key have expired, so that it may
// sign.
func (z *Zone) Learned(k *ZoneKey) time.Time { return z.KeysHeld.Gone(k.Since, z.EffectiveTTL()) }

// Activate makes the key at a position sign, and retires the previous one.
func (z *Zone) Activate(at int, now time.Time) {
	z.Keys = slices.Clone(z.Keys)
	if was := z.ActiveKey(); was != nil {
		was.State, was.Since = KeyRetired, now.Unix()
	}
	z.Keys[at].State, z.Keys[at].Since = KeyActive, now.Unix()
}

// LongestTTL returns the longest TTL of the zone's answers in seconds, which is how long
// signatures of a key may be used.
func (z *Zone) LongestTTL(g *GSLB) Seconds {
	longest := z.EffectiveTTL()
	for _, r := range z.All() {
		longest = max(longest, r.EffectiveTTL(z))
	}
	for i := range g.Services {
		longest = max(longest, g.Services[i].EffectiveTTL())
	}
	return longest
}
