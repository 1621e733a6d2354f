package balance

// Tried names the members an exchange has tried already. It is a small value:
// With returns a changed copy. The zero value names none.
//
// The first 64 members of a service are remembered without bound, of later
// ones the last four: an exchange is not retried more often than that.
type Tried struct {
	low  uint64
	high [4]uint16 // index, newest first; 0 is no entry (index 0 is in low)
}

// With adds the member with index i.
func (t Tried) With(i int) Tried {
	if i < 64 {
		t.low |= 1 << uint(i)
		return t
	}
	t.high = [4]uint16{uint16(i), t.high[0], t.high[1], t.high[2]}
	return t
}

// Has reports whether the member with index i was tried.
func (t Tried) Has(i int) bool {
	if i < 64 {
		return t.low>>uint(i)&1 != 0
	}
	return t.hasHigh(uint16(i))
}

func (t Tried) hasHigh(i uint16) bool {
	return t.high[0] == i || t.high[1] == i || t.high[2] == i || t.high[3] == i
}
