package farm

import "math"

// EffectiveTTL is the time to live in force while all backends work.
func (s *DNSService) EffectiveTTL() Seconds { return effectiveTTL(s.TTL, DefaultDNSTTL) }

// EffectiveTTL is the time to live of records without one.
func (z *Zone) EffectiveTTL() Seconds { return effectiveTTL(z.TTL, DefaultZoneTTL) }

// EffectiveTTL is the time to live of a record in its zone. That of DYNA may be less: the
// service has one of its own.
func (r *Record) EffectiveTTL(z *Zone) Seconds { return effectiveTTL(r.TTL, z.EffectiveTTL()) }

// NoTTL stands for a time to live of zero where 0 means that none was set: answers may
// not be kept (RFC 1035 §3.2.1).
const NoTTL Seconds = math.MaxUint32

// StoredTTL is how a time to live that was set is stored, zero too.
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
