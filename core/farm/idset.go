package farm

// IDSet is a set of IDs; the zero value is an empty one. Nearly all IDs are low, one
// beside the other: a change that asks for each of ten thousand needs no map for them,
// which would take ten times as long.
type IDSet struct {
	low  []bool
	high map[uint32]struct{}
}

// lowIDs bounds those that need no map: all that farms and backends may have.
const lowIDs = MaxBackendID + 1

// Add puts an ID in, and reports whether it was not there before.
func (s *IDSet) Add(id uint32) bool {
	if id >= lowIDs {
		before := len(s.high)
		if s.high == nil {
			s.high = map[uint32]struct{}{}
		}
		s.high[id] = struct{}{}
		return len(s.high) > before
	}
	for int(id) >= len(s.low) {
		s.low = append(s.low, make([]bool, max(256, len(s.low)))...)
	}
	was := s.low[id]
	s.low[id] = true
	return !was
}

// Take takes an ID out, and reports whether it was there.
func (s *IDSet) Take(id uint32) bool {
	if id >= lowIDs {
		_, is := s.high[id]
		delete(s.high, id)
		return is
	}
	is := int(id) < len(s.low) && s.low[id]
	if is {
		s.low[id] = false
	}
	return is
}
