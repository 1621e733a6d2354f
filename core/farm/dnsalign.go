package farm

// RecordRun is a run of Length equal records in two lists, from Old in one and New in the
// other.
type RecordRun struct{ Old, New, Length int }

// AlignRecords returns the runs of equal records of two lists in their order. It always
// finds the common beginning and end. In between it compares the IDs of records, which
// normally increase in a zone. If they do not, runs may be missing, but each returned run
// is correct.
func AlignRecords(old, now []Record) (runs []RecordRun) {
	a, b := &recordPages{}, &recordPages{}
	a.add(page{"", old}, len(old))
	b.add(page{"", now}, len(now))
	return alignRecords(a, b)
}

func alignRecords(old, now *recordPages) (runs []RecordRun) {
	same := func(i, j int) bool { return *old.record(i) == *now.record(j) }
	begin := 0
	for begin < min(old.n, now.n) && same(begin, begin) {
		begin++
	}
	toOld, toNow := old.n, now.n // start of the common end
	for toOld > begin && toNow > begin && same(toOld-1, toNow-1) {
		toOld, toNow = toOld-1, toNow-1
	}
	if begin > 0 {
		runs = append(runs, RecordRun{0, 0, begin})
	}
	for i, j := begin, begin; i < toOld && j < toNow; {
		n := 0
		for i+n < toOld && j+n < toNow && same(i+n, j+n) {
			n++
		}
		if n > 0 {
			runs = append(runs, RecordRun{i, j, n})
			i, j = i+n, j+n
			continue
		}
		switch a, b := old.record(i).ID, now.record(j).ID; {
		case b == 0 || a > b:
			j++ // new
		case a < b:
			i++ // gone
		default:
			i, j = i+1, j+1 // changed
		}
	}
	if n := old.n - toOld; n > 0 {
		runs = append(runs, RecordRun{toOld, toNow, n})
	}
	return runs
}
