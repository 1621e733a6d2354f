package apply

// idSet is a set of IDs. Nearly all are low, one beside the other: a change that asks
// for each of ten thousand needs no map for them.
type idSet struct {
	low  []bool
	high map[uint32]bool
}

// lowIDs bounds those that need no map: all that farms and backends may have.
const lowIDs = 1 << 16

func (s *idSet) add(id uint32) {
	if id >= lowIDs {
		if s.high == nil {
			s.high = map[uint32]bool{}
		}
		s.high[id] = true
		return
	}
	for int(id) >= len(s.low) {
		s.low = append(s.low, make([]bool, max(256, len(s.low)))...)
	}
	s.low[id] = true
}

// take takes an ID out, and reports whether it was there.
func (s *idSet) take(id uint32) bool {
	if id >= lowIDs {
		is := s.high[id]
		delete(s.high, id)
		return is
	}
	is := int(id) < len(s.low) && s.low[id]
	if is {
		s.low[id] = false
	}
	return is
}
