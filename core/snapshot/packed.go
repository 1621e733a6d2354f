package snapshot

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
)

const (
	// packFrom is the minimum number of records of a packed zone.
	packFrom = 128
	// maxPacked is the maximum number of packed records in all zones together.
	maxPacked = 1 << 22
)

// run is a packed run of the records of a zone.
type run struct {
	digest digest // of its bytes
	count  int    // of its records
}

// hasPacked reports whether the encoding of a farm has packed records.
func hasPacked(f *farm.Farm) bool {
	if f.Global != nil {
		for i := range f.Global.Zones {
			if z := &f.Global.Zones[i]; len(z.Packed) > 0 || len(z.Records) >= packFrom {
				return true
			}
		}
	}
	return false
}

// splitZones divides the records of each zone into runs. It reuses the runs of before for
// unchanged records and returns the others in fresh. before may be nil.
func splitZones(f *farm.Farm, before *entry) (zones [][]run, fresh map[digest][]byte) {
	zones, fresh = make([][]run, len(f.Global.Zones)), map[digest][]byte{}
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		was, runs := before.zone(i, z.Name)
		switch {
		case len(z.Packed) > 0:
			zones[i] = splitPacked(was, runs, z.Packed, fresh)
		case len(z.Records) >= packFrom && was != nil && len(was.Packed) == 0:
			zones[i] = splitRecords(was.Records, runs, z.Records, fresh)
		case len(z.Records) >= packFrom:
			zones[i] = splitRecords(nil, nil, z.Records, fresh)
		}
	}
	return zones, fresh
}

// splitPacked returns the runs of packed records. Runs that was contains keep their known
// digests.
func splitPacked(was *farm.Zone, runs []run, packed []string, fresh map[digest][]byte) []run {
	out := make([]run, len(packed))
	var missing []int
	if was == nil || len(runs) != len(was.Packed) {
		was = &farm.Zone{}
	}
	for k, m := range farm.SameRuns(was.Packed, packed) {
		if m < 0 {
			missing = append(missing, k)
		} else {
			out[k] = runs[m]
		}
	}
	each(len(missing), func(i int) { out[missing[i]].digest = sha256.Sum256(bytesOf(packed[missing[i]])) })
	for _, k := range missing {
		fresh[out[k].digest] = bytesOf(packed[k])
	}
	return out
}

// bytesOf returns the read-only memory of a text.
func bytesOf(text string) []byte { return unsafe.Slice(unsafe.StringData(text), len(text)) }

// zone returns the zone with a name and the runs of its records. It looks at position at
// first.
func (e *entry) zone(at int, name string) (*farm.Zone, []run) {
	if e == nil || e.farm.Global == nil || len(e.runs) != len(e.farm.Global.Zones) {
		return nil, nil
	}
	zones := e.farm.Global.Zones
	if at >= len(zones) || zones[at].Name != name {
		at = 0
		for at < len(zones) && zones[at].Name != name {
			at++
		}
	}
	if at == len(zones) {
		return nil, nil
	}
	return &zones[at], e.runs[at]
}

// splitRecords divides records into runs. If the records of an old run are consecutive in
// records, it reuses the run. It adds fresh runs between them.
func splitRecords(old []farm.Record, runs []run, records []farm.Record, fresh map[digest][]byte) []run {
	equal := farm.AlignRecords(old, records)
	var d division
	from, at := 0, 0 // start of the next run in records and in old
	for _, r := range runs {
		for len(equal) > 0 && equal[0].Old+equal[0].Length < at+r.count {
			equal = equal[1:]
		}
		if len(equal) > 0 && equal[0].Old <= at {
			now := equal[0].New + at - equal[0].Old
			d.divide(from, now)
			d.runs, from = append(d.runs, r), now+r.count
		}
		at += r.count
	}
	d.divide(from, len(records))
	d.pack(records, fresh)
	return d.runs
}

// division is the state of dividing records into runs.
type division struct {
	runs    []run
	missing []span // runs that are not packed yet
}

// span is a run of records[from:].
type span struct{ run, from int }

// divide appends runs for records[from:to], which follow the existing runs. It merges
// short preceding runs into the first new one.
func (d *division) divide(from, to int) {
	if from == to {
		return
	}
	for n := len(d.runs); n > 0 && d.runs[n-1].count+to-from <= farm.PackedRun; n-- {
		from, d.runs = from-d.runs[n-1].count, d.runs[:n-1]
	}
	for n := len(d.missing); n > 0 && d.missing[n-1].run >= len(d.runs); n-- {
		d.missing = d.missing[:n-1]
	}
	for from < to {
		n := min(to-from, farm.PackedRun)
		d.missing = append(d.missing, span{len(d.runs), from})
		d.runs, from = append(d.runs, run{count: n}), from+n
	}
}

// pack packs the missing runs.
func (d *division) pack(records []farm.Record, fresh map[digest][]byte) {
	texts := make([][]byte, len(d.missing))
	each(len(texts), func(k int) {
		r := &d.runs[d.missing[k].run]
		texts[k] = packRun(records[d.missing[k].from:][:r.count])
		r.digest = sha256.Sum256(texts[k])
	})
	for k, text := range texts {
		fresh[d.runs[d.missing[k].run].digest] = text
	}
}

// packRun returns the packed form of records without spare capacity.
func packRun(records []farm.Record) []byte {
	space := scratch.Get().(*[]byte)
	defer scratch.Put(space)
	*space = farm.AppendPacked((*space)[:0], records)
	return bytes.Clone(*space)
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// each calls do for 0 … n-1 on all processors, because packing a million records would
// take most of a start.
func each(n int, do func(k int)) {
	var next atomic.Int64
	work := func() {
		for k := int(next.Add(1)) - 1; k < n; k = int(next.Add(1)) - 1 {
			do(k)
		}
	}
	var running sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
}

// inOrder returns each fresh run once, in the order of the zones.
func inOrder(zones [][]run, fresh map[digest][]byte) (texts [][]byte) {
	taken := make(map[digest]bool, len(fresh))
	for _, runs := range zones {
		for _, r := range runs {
			if text, is := fresh[r.digest]; is && !taken[r.digest] {
				texts, taken[r.digest] = append(texts, text), true
			}
		}
	}
	return texts
}

// withPacked returns a copy of f in which the packed records from texts replace the
// records of each zone.
func withPacked(f *farm.Farm, zones [][]run, texts func(zone int, of []run) []string) *farm.Farm {
	out := *f
	out.OwnZones()
	for i, runs := range zones {
		if len(runs) > 0 {
			out.Global.Zones[i].Records, out.Global.Zones[i].Packed = nil, texts(i, runs)
		}
	}
	return &out
}

// digestMark precedes the digest of a run in a head. The byte never occurs in UTF-8, so a
// name or comment of a configuration cannot look like a digest.
const (
	digestMark = "\xff"
	digestSize = len(digestMark) + sha256.Size
)

// text returns the form of d in a head.
func (d digest) text() string { return digestMark + string(d[:]) }

// digestOf is the inverse of text.
func digestOf(text string) (d digest, ok bool) {
	if len(text) != digestSize || text[:len(digestMark)] != digestMark {
		return d, false
	}
	return digest([]byte(text[len(digestMark):])), true
}

// headOf returns f with digests instead of its runs. Snapshots that follow contain the
// encoding of the head. Its digest identifies the whole farm.
func headOf(f *farm.Farm, zones [][]run) *farm.Farm {
	return withPacked(f, zones, func(_ int, of []run) []string {
		texts := make([]string, len(of))
		for i := range of {
			texts[i] = of[i].digest.text()
		}
		return texts
	})
}

// full returns the encoding of a farm with all runs, in pieces.
func (e *entry) full() ([][]byte, error) {
	if e.runs == nil {
		return [][]byte{e.encoded}, nil
	}
	return unfold(e.encoded, e.runs, e.packed())
}

// packed returns the texts of the runs of all zones. It packs published runs again.
func (e *entry) packed() [][]byte {
	var all [][]byte
	var missing []func() []byte
	var at []int
	for i, runs := range e.runs {
		z := &e.farm.Global.Zones[i]
		records := z.Records
		for j, r := range runs {
			text, is := e.fresh[r.digest]
			switch {
			case is:
			case len(z.Packed) > 0:
				text = bytesOf(z.Packed[j])
			default:
				of := records[:r.count]
				missing, at = append(missing, func() []byte { return packRun(of) }), append(at, len(all))
			}
			all = append(all, text)
			if len(z.Packed) == 0 {
				records = records[r.count:]
			}
		}
	}
	each(len(missing), func(k int) { all[at[k]] = missing[k]() })
	return all
}

// unfold returns the encoding of a head with runs instead of their digests, in pieces.
func unfold(encoded []byte, runs [][]run, texts [][]byte) (all [][]byte, err error) {
	sums := slices.Concat(runs...)
	from := 0 // start of the bytes that all lacks
	for b := encoded; len(b) > 0 && len(texts) > 0; {
		major, n, rest := head(b)
		if major == 2 || major == 3 {
			if major == 3 && n == uint64(digestSize) && string(rest[:n]) == sums[0].digest.text() {
				at := len(encoded) - len(b)
				all = append(all, encoded[from:at:at], textHead(len(texts[0])), texts[0])
				from = len(encoded) - len(rest) + digestSize
				sums, texts = sums[1:], texts[1:]
			}
			rest = rest[n:]
		}
		b = rest
	}
	if len(texts) > 0 {
		return nil, fmt.Errorf("the digests of %d runs of records are not in the encoding", len(texts))
	}
	return append(all, encoded[from:]), nil
}

// identify completes an entry that was decoded from a complete farm. It sets the digest
// that a later snapshot refers to.
func (e *entry) identify() error {
	zones := e.farm.Global.Zones
	e.runs = make([][]run, len(zones))
	for i := range zones {
		runs, errs := make([]run, len(zones[i].Packed)), make([]error, len(zones[i].Packed))
		each(len(runs), func(j int) { runs[j], errs[j] = runOf(zones[i].Packed[j]) })
		for j := range runs {
			if errs[j] != nil {
				return fmt.Errorf("zone %q: %w", zones[i].Name, errs[j])
			}
			e.records += uint64(runs[j].count)
		}
		if len(runs) > 0 {
			e.runs[i] = runs
		}
		if err := unmixed(&zones[i]); err != nil {
			return err
		}
	}
	b, err := encoding.Marshal(headOf(&e.farm, e.runs))
	e.digest = sha256.Sum256(b)
	return err
}

// unmixed returns an error if a zone has both packed and unpacked records.
func unmixed(z *farm.Zone) error {
	if len(z.Packed) > 0 && len(z.Records) > 0 {
		return fmt.Errorf("zone %q has packed records and others", z.Name)
	}
	return nil
}

// runOf returns the run of a packed text, or an error if the text is invalid.
func runOf(packed string) (run, error) {
	n, ok := farm.CountPacked(packed)
	if !ok || n == 0 {
		return run{}, fmt.Errorf("a packed run of %d bytes is none", len(packed))
	}
	return run{sha256.Sum256([]byte(packed)), n}, nil
}

// resolve replaces the digests in a farm decoded from a head by runs of base or fresh. It
// returns an error if a fresh run is unused.
func (e *entry) resolve(base *entry, fresh [][]byte) error {
	known := base.texts()
	unused := make(map[digest]bool, len(fresh))
	for _, b := range fresh {
		text := string(b)
		r, err := runOf(text)
		if err != nil {
			return err
		}
		known[r.digest], unused[r.digest] = packed{text, r.count}, true
	}
	if e.farm.Global == nil {
		return errors.New("it has runs of records, but no zones")
	}
	e.runs = make([][]run, len(e.farm.Global.Zones))
	for i := range e.farm.Global.Zones {
		z := &e.farm.Global.Zones[i]
		e.runs[i] = make([]run, len(z.Packed))
		for j, name := range z.Packed {
			d, is := digestOf(name)
			if !is {
				return fmt.Errorf("zone %q: %d bytes are no digest", z.Name, len(name))
			}
			of, is := known[d]
			if !is {
				return fmt.Errorf("zone %q: packed run %d is not here", z.Name, j)
			}
			z.Packed[j], e.runs[i][j] = of.text, run{d, of.count}
			delete(unused, d)
			e.size, e.records = e.size+len(of.text), e.records+uint64(of.count)
		}
		if err := unmixed(z); err != nil {
			return err
		}
	}
	if len(unused) > 0 {
		return fmt.Errorf("%d runs of records are in no zone", len(unused))
	}
	return nil
}

// packed is the text of a checked run and its number of records.
type packed struct {
	text  string
	count int
}

// texts returns the runs of a farm by digest.
func (e *entry) texts() map[digest]packed {
	texts := map[digest]packed{}
	if e == nil {
		return texts
	}
	for i, runs := range e.runs {
		for j, r := range runs {
			if _, is := texts[r.digest]; !is {
				texts[r.digest] = packed{e.farm.Global.Zones[i].Packed[j], r.count}
			}
		}
	}
	return texts
}
