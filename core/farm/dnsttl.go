package farm

import "math"

// EffectiveTTL returns the TTL while all backends work.
func (s *DNSService) EffectiveTTL() Seconds { return effectiveTTL(s.TTL, DefaultDNSTTL) }

// EffectiveTTL returns the default TTL of the zone's records.
func (z *Zone) EffectiveTTL() Seconds { return effectiveTTL(z.TTL, DefaultZoneTTL) }

// EffectiveTTL returns the TTL of a record in its zone. That of DYNA may be lower, because
// the service has its own.
func (r *Record) EffectiveTTL(z *Zone) Seconds { return effectiveTTL(r.TTL, z.EffectiveTTL()) }

// NoTTL represents a TTL of zero, because 0 means unset: answers must not be cached (RFC
// 1035 §3.2.1).
const NoTTL Seconds = math.MaxUint32

// StoredTTL returns the stored form of a TTL that was set, including zero.
func StoredTTL(seconds Seconds) Seconds {
	if seconds == 0 {
		return NoTTL
	}
	return seconds
}

func effectiveTTL(set, unset Seconds) Seconds {
	switch set {
	case 0:
		return unset
	case NoTTL:
		return 0
	}
	return set
}
