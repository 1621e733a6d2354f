package farm

// IDSet is a set of IDs; the zero value is empty. Nearly all IDs are low and dense, so they
// are stored without a map, which would be ten times as slow for a change that looks up ten
// thousand.
type IDSet struct {
	low  []bool
	high map[uint32]struct{}
}

// lowIDs limits the IDs stored without a map: all possible ones of farms and backends.
const lowIDs = MaxBackendID + 1

// Add adds an ID and reports whether it is new.
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

// Take removes an ID and reports whether it was in the set.
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
