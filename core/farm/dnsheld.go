package farm

import "time"

// HeldTTL holds a former TTL that was longer than the current one: resolvers may keep
// earlier answers for that time. The zero value holds none.
type HeldTTL struct {
	// TTL is the longest former TTL.
	TTL Seconds `json:"ttl,omitempty"`
	// Until is when the last earlier answer expires, in Unix seconds.
	Until int64 `json:"until,omitempty"`
}

// Lowered returns h updated for a changed TTL.
func (h HeldTTL) Lowered(from, to Seconds, now time.Time) HeldTTL {
	if from <= to {
		return h
	}
	until := now.Unix() + int64(from)
	if h.Until <= now.Unix() { // all earlier answers have expired
		return HeldTTL{from, until}
	}
	return HeldTTL{max(h.TTL, from), max(h.Until, until)}
}

// Gone returns when all answers received up to since have expired. ttl is the current TTL.
func (h HeldTTL) Gone(since int64, ttl Seconds) time.Time {
	return time.Unix(max(since+int64(ttl), min(since+int64(h.TTL), h.Until)), 0)
}

// FollowTTLs updates Held and KeysHeld after a change from was, with settings wasIn, to z
// with settings g.
func (z *Zone) FollowTTLs(g *GSLB, was *Zone, wasIn *GSLB, now time.Time) {
	z.Held = was.Held.Lowered(was.LongestTTL(wasIn), z.LongestTTL(g), now)
	z.KeysHeld = was.KeysHeld.Lowered(was.EffectiveTTL(), z.EffectiveTTL(), now)
}

// Forgotten returns when all answers signed by a key retired at that time have expired.
func (z *Zone) Forgotten(g *GSLB, retired int64) time.Time {
	return z.Held.Gone(retired, z.LongestTTL(g))
}
