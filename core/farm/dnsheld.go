package farm

import "time"

// HeldTTL remembers times to live that were longer than those in force: resolvers may hold
// answers from before for as long. The zero value remembers none.
type HeldTTL struct {
	// TTL is the longest of them.
	TTL Seconds `json:"ttl,omitempty"`
	// Until is when no resolver holds an answer from before any more, in seconds since 1970.
	Until int64 `json:"until,omitempty"`
}

// Lowered returns what is to be remembered once a time to live becomes another one.
func (h HeldTTL) Lowered(from, to Seconds, now time.Time) HeldTTL {
	if from <= to {
		return h
	}
	until := now.Unix() + int64(from)
	if h.Until <= now.Unix() { // nothing of that is held any more
		return HeldTTL{from, until}
	}
	return HeldTTL{max(h.TTL, from), max(h.Until, until)}
}

// Gone returns when no resolver holds an answer any more that it got at a time or before;
// ttl is the time to live in force.
func (h HeldTTL) Gone(since int64, ttl Seconds) time.Time {
	return time.Unix(max(since+int64(ttl), min(since+int64(h.TTL), h.Until)), 0)
}

// FollowTTLs has the zone remember times to live of what it was, in the settings was, that
// are longer than its own in g.
func (z *Zone) FollowTTLs(g *GSLB, was *Zone, wasIn *GSLB, now time.Time) {
	z.Held = was.Held.Lowered(was.LongestTTL(wasIn), z.LongestTTL(g), now)
	z.KeysHeld = was.KeysHeld.Lowered(was.EffectiveTTL(), z.EffectiveTTL(), now)
}

// Forgotten returns when no resolver holds an answer any more that a key signed which
// retired at a time.
func (z *Zone) Forgotten(g *GSLB, retired int64) time.Time {
	return z.Held.Gone(retired, z.LongestTTL(g))
}
