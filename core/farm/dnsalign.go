package farm

// RecordRun is a run of records that two lists have: Length of them, from Old in the one
// and from New in the other.
type RecordRun struct{ Old, New, Length int }

// AlignRecords returns the runs of equal records of two lists in their order. Records are
// found again by their numbers, which rise in a zone: where they do not, runs may be missed,
// but what is in one is equal.
func AlignRecords(old, now []Record) (runs []RecordRun) {
	i, j := 0, 0
	for i < len(old) && j < len(now) {
		n := 0
		for i+n < len(old) && j+n < len(now) && old[i+n] == now[j+n] {
			n++
		}
		if n > 0 {
			runs = append(runs, RecordRun{i, j, n})
			i, j = i+n, j+n
			continue
		}
		switch a, b := old[i].ID, now[j].ID; {
		case b == 0 || a > b:
			j++ // new
		case a < b:
			i++ // gone
		default:
			i, j = i+1, j+1 // changed
		}
	}
	return runs
}
