package farm

import (
	"iter"
	"slices"
)

// The records of a zone are either in Records or, if they are many, in Packed. Other
// packages use these methods for all access.

// Len returns the number of records.
func (z *Zone) Len() int {
	n := len(z.Records)
	for k := range z.Packed {
		n += z.factsAt(k).count
	}
	return n
}

// All yields every record with its position.
func (z *Zone) All() iter.Seq2[int, Record] {
	return z.runs(func(*Run) bool { return true })
}

// runs yields the records of the runs for which wanted is true, and all unpacked records.
func (z *Zone) runs(wanted func(*Run) bool) iter.Seq2[int, Record] {
	return func(yield func(int, Record) bool) {
		at := 0
		for k := range z.Packed {
			f := z.factsAt(k)
			if !wanted(f) {
				at += f.count
				continue
			}
			for run := f.text; len(run) > 0; at++ {
				var r Record
				if r, run, _ = unpackOne(run); !yield(at, r) {
					return
				}
			}
		}
		for i := range z.Records {
			if !yield(at+i, z.Records[i]) {
				return
			}
		}
	}
}

// Types returns the types of the records, each once.
func (z *Zone) Types() (out []RecordType) {
	add := func(t RecordType) {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	for k := range z.Packed {
		for _, t := range z.factsAt(k).types {
			add(t)
		}
	}
	for i := range z.Records {
		add(z.Records[i].Type)
	}
	return out
}

// OfType yields the records of some types.
func (z *Zone) OfType(types ...RecordType) iter.Seq2[int, Record] {
	some := z.runs(func(f *Run) bool {
		return slices.ContainsFunc(types, func(t RecordType) bool { return slices.Contains(f.types, t) })
	})
	return func(yield func(int, Record) bool) {
		for i, r := range some {
			if slices.Contains(types, r.Type) && !yield(i, r) {
				return
			}
		}
	}
}

// MayBeNamed yields all records with one of the names, in any spelling. It may yield other
// records too, so the caller must compare names.
func (z *Zone) MayBeNamed(names ...string) iter.Seq2[int, Record] {
	hashes := make([]uint64, 0, len(names))
	for _, name := range names {
		h, plain := nameHash(name)
		if !plain {
			return z.All()
		}
		hashes = append(hashes, h)
	}
	return z.runs(func(f *Run) bool { return slices.ContainsFunc(hashes, f.names.may) })
}

// Find returns the record with the API's number, and its position; -1 if there is none.
func (z *Zone) Find(number int) (at int, r Record) {
	id := uint32(number + 1)
	for at, r = range z.runs(func(f *Run) bool { return f.low <= id && id <= f.high }) {
		if int(r.ID)-1 == number {
			return at, r
		}
	}
	return -1, Record{}
}

// Positions returns the positions of the records with the given API numbers, by number.
func (z *Zone) Positions(numbers []int) map[int]int {
	sorted := slices.Sorted(slices.Values(numbers))
	some := z.runs(func(f *Run) bool {
		k, _ := slices.BinarySearch(sorted, int(f.low)-1)
		return k < len(sorted) && sorted[k] <= int(f.high)-1
	})
	at := make(map[int]int, len(numbers))
	for i, r := range some {
		if _, is := slices.BinarySearch(sorted, int(r.ID)-1); is {
			at[int(r.ID)-1] = i
		}
	}
	return at
}

// At returns the record at a position.
func (z *Zone) At(i int) Record { return z.Slice(i, i+1)[0] }

// Slice returns the records from position from to to-1. The caller must not modify them.
func (z *Zone) Slice(from, to int) []Record {
	if len(z.Packed) == 0 {
		return z.Records[from:to:to]
	}
	list := make([]Record, 0, to-from)
	at := 0
	for k := 0; k < len(z.Packed) && at < to; k++ {
		f := z.factsAt(k)
		if at+f.count <= from {
			at += f.count
			continue
		}
		for run := f.text; len(run) > 0 && at < to; at++ {
			var r Record
			if r, run, _ = unpackOne(run); at >= from {
				list = append(list, r)
			}
		}
	}
	return list
}

// OptionalFields returns the number of TTLs and comments of the records from position from
// to to-1, and whether some text may have several lines.
func (z *Zone) OptionalFields(from, to int) (n int, multiline bool) {
	count := func(f *Run) { n, multiline = n+f.ttls+f.comments, multiline || f.multiline }
	if len(z.Packed) == 0 {
		count(factsOf("", z.Records[from:to]))
		return n, multiline
	}
	at := 0
	for k := 0; k < len(z.Packed) && at < to; k++ {
		f := z.factsAt(k)
		switch end := at + f.count; {
		case from <= at && end <= to:
			count(f)
		case from < end:
			count(factsOf("", z.Slice(max(from, at), min(to, end))))
		}
		at += f.count
	}
	return n, multiline
}
