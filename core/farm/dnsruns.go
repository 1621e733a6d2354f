package farm

import (
	"slices"
	"strings"
)

// PackFrom is the minimum number of records of a zone that mgmt keeps packed.
const PackFrom = PackedRun + 1

// Run is a packed run with a description, so that a search unpacks only runs with possible
// matches. It is immutable and shared by successive versions of a zone.
type Run struct {
	text      string
	count     int    // of its records
	low, high uint32 // lowest and highest ID; low is 0 if a record has none
	types     []RecordType
	names     nameFilter
	// ttls and comments are the numbers of records with these fields. multiline reports
	// whether some text has several lines.
	ttls, comments int
	multiline      bool
}

// ReadRun returns the run with that text, or false if the text is not a packed run.
func ReadRun(text string) (*Run, bool) {
	list, ok := Unpack(nil, text)
	if !ok || len(list) == 0 {
		return nil, false
	}
	return factsOf(text, list), true
}

// Len returns the number of records in the run.
func (r *Run) Len() int { return r.count }

// SetRuns replaces the records of the zone by the records of runs.
func (z *Zone) SetRuns(runs []*Run) {
	z.takeRuns(runs)
	z.Pack(nil)
}

// factsOf returns the run with that text and these records.
func factsOf(text string, records []Record) *Run {
	f := &Run{text: text, count: len(records), names: newNameFilter(len(records))}
	for i := range records {
		r := &records[i]
		if f.high = max(f.high, r.ID); i == 0 || r.ID < f.low {
			f.low = r.ID
		}
		if !slices.Contains(f.types, r.Type) {
			f.types = append(f.types, RecordType(strings.Clone(string(r.Type)))) // a clone does not retain the run
		}
		f.names.add(r.Name)
		if r.TTL != 0 {
			f.ttls++
		}
		if r.Comment != "" {
			f.comments++
		}
		f.multiline = f.multiline || strings.Contains(r.Name, "\n") || strings.Contains(r.Data, "\n") || strings.Contains(r.Comment, "\n")
	}
	return f
}

// runOf packs at most PackedRun records.
func runOf(records []Record) *Run { return factsOf(string(AppendPacked(nil, records)), records) }

// factsAt returns the run at position k. Only zones packed by mgmt store descriptions; for
// others it computes one.
func (z *Zone) factsAt(k int) *Run {
	if k < len(z.facts) && z.facts[k].text == z.Packed[k] {
		return z.facts[k]
	}
	list, _ := Unpack(nil, z.Packed[k])
	return factsOf(z.Packed[k], list)
}

// setRuns replaces runs[from:to] of a packed zone. It makes new lists, because other zones
// may share the previous ones.
func (z *Zone) setRuns(from, to int, runs ...*Run) {
	facts := make([]*Run, 0, len(z.Packed)+len(runs)-(to-from))
	for k := range from {
		facts = append(facts, z.factsAt(k))
	}
	facts = append(facts, runs...)
	for k := to; k < len(z.Packed); k++ {
		facts = append(facts, z.factsAt(k))
	}
	z.takeRuns(facts)
}

// takeRuns replaces all records of the zone by the records of runs.
func (z *Zone) takeRuns(runs []*Run) {
	z.Records, z.facts, z.Packed = nil, runs, make([]string, len(runs))
	for k, f := range runs {
		z.Packed[k] = f.text
	}
}

// nameFilter is a Bloom filter of the names in a run, with 0.5 % false positives. Names
// with escapes, a trailing dot or non-ASCII characters have several spellings. A filter
// that contains one matches every name.
type nameFilter struct {
	bits []uint64 // the length is a power of two
	all  bool
}

// newNameFilter returns a filter with 16 to 32 bits for each of n names.
func newNameFilter(n int) nameFilter {
	words := 1
	for words*4 < n {
		words *= 2
	}
	return nameFilter{bits: make([]uint64, words)}
}

func (f *nameFilter) add(name string) {
	h, plain := nameHash(name)
	if !plain {
		f.all = true
		return
	}
	for range 3 {
		at := h & uint64(len(f.bits)*64-1)
		f.bits[at/64] |= 1 << (at % 64)
		h >>= 20
	}
}

// may reports whether the run may contain a record, in any spelling, whose name has that
// hash.
func (f *nameFilter) may(h uint64) bool {
	for range 3 {
		at := h & uint64(len(f.bits)*64-1)
		if f.bits[at/64]&(1<<(at%64)) == 0 {
			return f.all
		}
		h >>= 20
	}
	return true
}

// nameHash returns the hash of a name regardless of case (FNV-1a with a final mix). plain
// is false for names with several spellings.
func nameHash(name string) (h uint64, plain bool) {
	h, plain = 14695981039346656037, !strings.HasSuffix(name, ".")
	for i := range len(name) {
		c := name[i]
		if c >= 0x80 || c == '\\' {
			plain = false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return h ^ h>>32, plain
}
