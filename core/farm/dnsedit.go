package farm

import (
	"maps"
	"slices"
)

// Edits of the records of a zone. An edit of a packed zone replaces one run and keeps all
// others.

// SetRecords replaces the records of the zone by an unpacked list.
func (z *Zone) SetRecords(list []Record) { z.Records, z.Packed, z.facts = list, nil, nil }

// ShareRecords replaces the records of the zone by the records of another zone and shares
// their memory.
func (z *Zone) ShareRecords(from *Zone) {
	z.Records, z.Packed, z.facts = from.Records, from.Packed, from.facts
}

// Append adds records after all others.
func (z *Zone) Append(records ...Record) {
	switch {
	case len(records) == 0:
		return
	case len(z.Packed) == 0:
		z.Records = append(z.Records, records...)
		return
	}
	last := len(z.Packed) - 1
	if f := z.factsAt(last); f.count+len(records) <= PackedRun {
		list, _ := Unpack(make([]Record, 0, PackedRun), f.text)
		z.setRuns(last, last+1, runOf(append(list, records...)))
		return
	}
	z.setRuns(last+1, last+1, runsOf(records)...)
}

// Set replaces the record at a position.
func (z *Zone) Set(i int, r Record) {
	if len(z.Packed) == 0 {
		z.Records[i] = r
		return
	}
	k, first := z.runAt(i)
	list, _ := Unpack(nil, z.Packed[k])
	list[i-first] = r
	z.setRuns(k, k+1, runOf(list))
}

// Delete removes the record at a position.
func (z *Zone) Delete(i int) {
	if len(z.Packed) == 0 {
		z.Records = slices.Delete(z.Records, i, i+1)
		return
	}
	k, first := z.runAt(i)
	list, _ := Unpack(nil, z.Packed[k])
	list = slices.Delete(list, i-first, i-first+1)
	switch next := k + 1; {
	case len(list) == 0:
		z.setRuns(k, next)
	case next < len(z.Packed) && len(list)+z.factsAt(next).count <= PackedRun/2: // limits the number of runs
		list, _ = Unpack(list, z.Packed[next])
		z.setRuns(k, next+1, runOf(list))
	default:
		z.setRuns(k, next, runOf(list))
	}
}

// runAt returns the run with the record at a position, and the position of its first one.
func (z *Zone) runAt(i int) (k, first int) {
	for ; first+z.factsAt(k).count <= i; k++ {
		first += z.factsAt(k).count
	}
	return k, first
}

// Unpack moves the records of the zone to a new list in Records, for edits of many
// records. Pack then reuses the runs of unchanged records.
func (z *Zone) Unpack() {
	if len(z.Packed) > 0 {
		z.SetRecords(z.Unpacked())
	}
}

// Pack packs the records of a large zone and unpacks a small zone. It reuses the runs of
// was with equal records. was may be nil.
func (z *Zone) Pack(was *Zone) {
	n := z.Len()
	switch {
	case n < PackFrom:
		z.Unpack()
	case len(z.Records) > 0:
		z.takeRuns(repacked(was, z.Unpacked()))
	}
}

// repacked packs records into runs. It reuses the runs of was whose records are
// consecutive in records, and packs the records between them into new runs.
func repacked(was *Zone, records []Record) (out []*Run) {
	if was == nil || len(was.Packed) == 0 {
		return runsOf(records)
	}
	from := 0 // start of the records without a run
	fill := func(to int) {
		for n := len(out); n > 0 && from < to && out[n-1].count+to-from <= PackedRun; n-- {
			from, out = from-out[n-1].count, out[:n-1] // merge short runs into the next one
		}
		out, from = append(out, runsOf(records[from:to])...), to
	}
	equal, at := AlignRecords(was.Unpacked(), records), 0
	for k := range was.Packed {
		f := was.factsAt(k)
		for len(equal) > 0 && equal[0].Old+equal[0].Length < at+f.count {
			equal = equal[1:]
		}
		if len(equal) > 0 && equal[0].Old <= at {
			fill(equal[0].New + at - equal[0].Old)
			out, from = append(out, f), from+f.count
		}
		at += f.count
	}
	fill(len(records))
	return out
}

// runsOf packs records in runs.
func runsOf(records []Record) (out []*Run) {
	for run := range slices.Chunk(records, PackedRun) {
		out = append(out, runOf(run))
	}
	return out
}

// Edit replaces and removes records. Positions refer to the records before the edit.
func (z *Zone) Edit(set map[int]Record, gone map[int]bool) {
	positions := slices.Sorted(maps.Keys(set))
	positions = append(positions, slices.Collect(maps.Keys(gone))...)
	slices.Sort(positions)
	edited := func(list []Record, first int) []Record {
		out := make([]Record, 0, len(list))
		for i, r := range list {
			if now, is := set[first+i]; is {
				r = now
			}
			if !gone[first+i] {
				out = append(out, r)
			}
		}
		return out
	}
	if len(z.Packed) == 0 {
		z.Records = edited(z.Records, 0)
		return
	}
	var runs []*Run
	first := 0
	for k := range z.Packed {
		f := z.factsAt(k)
		n, _ := slices.BinarySearch(positions, first+f.count)
		if n > 0 {
			list, _ := Unpack(nil, f.text)
			runs = append(runs, runsOf(edited(list, first))...)
		} else {
			runs = append(runs, f)
		}
		positions, first = positions[n:], first+f.count
	}
	z.takeRuns(runs)
}
