package farm

import (
	"maps"
	"slices"
)

// numberRuns is like number for a packed zone that shares most runs with its previous
// version was. It reads only the records of the other runs. If that is insufficient, it
// changes nothing and reports false.
func (z *Zone) numberRuns(was *Zone) bool {
	if len(z.Packed) == 0 || len(was.Packed) == 0 || len(z.Records)+len(was.Records) > 0 {
		return false
	}
	at, stays, next := SameRuns(was.Packed, z.Packed), make([]bool, len(was.Packed)), 0
	runs, last := make([]*Run, len(z.Packed)), max(z.LastRecord, was.LastRecord)
	for k, m := range at {
		runs[k] = z.factsAt(k)
		last = max(last, runs[k].high)
		if m < 0 {
			continue
		}
		if m < next || runs[k].low == 0 {
			return false
		}
		next, stays[m] = m+1, true
	}
	fresh, taken := z.freshRecords(at)
	var without []*Record
	for _, list := range fresh {
		without = append(without, numberless(list, taken)...)
	}
	sorted := slices.Sorted(maps.Keys(taken))
	for k, m := range at {
		if m >= 0 && runs[k].hasAny(taken, sorted) {
			return false
		}
	}
	z.setLastRecord(giveIDs(without, numbersIn(was.without(stays).All(), without), taken, last))
	if len(without) > 0 {
		for k, list := range fresh {
			if list != nil {
				runs[k] = runOf(list)
			}
		}
		z.takeRuns(runs)
	}
	return true
}

// without returns a zone with the runs for which stays is false.
func (z *Zone) without(stays []bool) *Zone {
	out := &Zone{}
	for k, is := range stays {
		if !is {
			out.Packed, out.facts = append(out.Packed, z.Packed[k]), append(out.facts, z.factsAt(k))
		}
	}
	return out
}

// freshRecords returns the records, by run, of the runs for which at is negative. taken is
// an empty map for their numbers.
func (z *Zone) freshRecords(at []int) (fresh [][]Record, taken map[uint32]bool) {
	fresh, taken = make([][]Record, len(at)), map[uint32]bool{}
	for k, m := range at {
		if m < 0 {
			fresh[k], _ = Unpack(nil, z.Packed[k])
		}
	}
	return fresh, taken
}

// hasAny reports whether a record of the run has one of the numbers. sorted holds the same
// numbers in ascending order.
func (f *Run) hasAny(numbers map[uint32]bool, sorted []uint32) bool {
	if at, _ := slices.BinarySearch(sorted, f.low); at == len(sorted) || sorted[at] > f.high {
		return false
	}
	for run := f.text; len(run) > 0; {
		var r Record
		if r, run, _ = unpackOne(run); numbers[r.ID] {
			return true
		}
	}
	return false
}

// numberedRuns reports whether all packed records have a number up to the last one.
func (z *Zone) numberedRuns() bool {
	for k := range z.Packed {
		if f := z.factsAt(k); f.low == 0 || f.high > z.LastRecord {
			return false
		}
	}
	return true
}
