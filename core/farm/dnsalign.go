package farm

// RecordRun is a run of Length equal records in two lists, from Old in one and New in the
// other.
type RecordRun struct{ Old, New, Length int }

// AlignRecords returns the runs of equal records of two lists in their order. It always
// finds the common beginning and end. In between it compares the IDs of records, which
// normally increase in a zone. If they do not, runs may be missing, but each returned run
// is correct.
func AlignRecords(old, now []Record) (runs []RecordRun) {
	begin := equalRecords(old, now)
	end := 0
	for end < min(len(old), len(now))-begin && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	i, j := 0, 0
	for i < len(old)-end && j < len(now)-end {
		n := 0
		if i == 0 && j == 0 {
			n = begin
		} else {
			n = equalRecords(old[i:len(old)-end], now[j:len(now)-end])
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
	if end > 0 {
		runs = append(runs, RecordRun{len(old) - end, len(now) - end, end})
	}
	return runs
}

// equalRecords returns the length of the common prefix of both lists.
func equalRecords(a, b []Record) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
