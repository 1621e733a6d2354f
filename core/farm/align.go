package farm

// Align returns for each farm of now the position of the same farm in before, or -1. The
// same means Same. IDs are unique in each list. While farms keep their order it costs one comparison per farm.
func Align(before, now []Farm) []int32 {
	at := make([]int32, len(now))
	var byID map[uint32]int // made when a farm is not at its expected position
	next := 0
	for i := range now {
		id, k := now[i].ID, next
		// It is expected after the previous one, or after a deleted farm.
		for k < len(before) && k < next+2 && before[k].ID != id {
			k++
		}
		if k == len(before) || before[k].ID != id {
			if byID == nil {
				byID = positions(before)
			}
			var is bool
			if k, is = byID[id]; !is {
				at[i] = -1
				continue
			}
		}
		next, at[i] = k+1, -1
		if before[k].Same(&now[i]) {
			at[i] = int32(k)
		}
	}
	return at
}

// alignment is a result of Align.
type alignment struct {
	before, now []Farm
	at          []int32
}

// AlignedWith returns Align(before, c.Farms). It keeps the last result, so several callers
// with the same lists cost one comparison. It must not be called concurrently. Neither the
// lists nor the result may be modified.
func (c *Config) AlignedWith(before []Farm) []int32 {
	if c.aligned == nil || !sameList(c.aligned.before, before) || !sameList(c.aligned.now, c.Farms) {
		c.aligned = &alignment{before, c.Farms, Align(before, c.Farms)}
	}
	return c.aligned.at
}

// sameList reports whether a and b are the same memory.
func sameList(a, b []Farm) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// Apart returns the farms that are in only one of the lists (see Align), in order. A
// changed farm is in both results.
func Apart(before, now []Farm) (was, is []Farm) {
	at := Align(before, now)
	for i, k := range at {
		if k < 0 {
			is = append(is, now[i])
		}
	}
	for _, k := range Gone(before, at) {
		was = append(was, before[k])
	}
	return was, is
}

// Gone returns the positions in before that at, a result of Align, does not contain.
func Gone(before []Farm, at []int32) (gone []int32) {
	stayed := make([]bool, len(before))
	for _, k := range at {
		if k >= 0 {
			stayed[k] = true
		}
	}
	for k, is := range stayed {
		if !is {
			gone = append(gone, int32(k))
		}
	}
	return gone
}

func positions(farms []Farm) map[uint32]int {
	at := make(map[uint32]int, len(farms))
	for i := range farms {
		at[farms[i].ID] = i
	}
	return at
}
