package farm

// Align returns for each farm of now the position in before of the same farm, or -1. The
// same farm is equal and shares its settings, which nobody changes any more. IDs are unique
// in each list. While farms keep their order it costs one comparison of each.
func Align(before, now []Farm) []int32 {
	at := make([]int32, len(now))
	var byID map[uint32]int // made once a farm is not where it is expected
	next := 0
	for i := range now {
		id, k := now[i].ID, next
		// It is expected where the one before it ended, or behind a farm that is gone.
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
		if before[k] == now[i] {
			at[i] = int32(k)
		}
	}
	return at
}

// Apart returns the farms of each list that the other does not have as they are (see
// Align), in their order: a farm that changed is in both.
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

// Gone returns the positions of the farms of before that Align found nowhere.
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
