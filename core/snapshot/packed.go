package snapshot

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
)

const (
	// packFrom is how many records a zone has at least whose records are packed.
	packFrom = 128
	// maxPacked bounds the packed records of all zones together.
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

// splitZones returns the runs of the records of each zone: those of a farm before as far as its
// zones have the same records, and fresh ones. before may be nil.
func splitZones(f *farm.Farm, before *entry) (zones [][]run, fresh map[digest]string) {
	zones, fresh = make([][]run, len(f.Global.Zones)), map[digest]string{}
	for i := range f.Global.Zones {
		z := &f.Global.Zones[i]
		for _, packed := range z.Packed { // the configuration comes from a reader
			r := run{digest: sha256.Sum256([]byte(packed))}
			zones[i] = append(zones[i], r)
			fresh[r.digest] = packed
		}
		if len(z.Records) >= packFrom {
			old, runs := before.zone(i, z.Name)
			zones[i] = splitRecords(old, runs, z.Records, fresh)
		}
	}
	return zones, fresh
}

// zone returns the records of the zone with a name, and their runs. It is expected at a
// position.
func (e *entry) zone(at int, name string) ([]farm.Record, []run) {
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
	if at == len(zones) || len(zones[at].Packed) > 0 {
		return nil, nil
	}
	return zones[at].Records, e.runs[at]
}

// splitRecords returns the runs of records: those of old whose records follow each other in
// records as well, and fresh ones between them.
func splitRecords(old []farm.Record, runs []run, records []farm.Record, fresh map[digest]string) (out []run) {
	equal := farm.AlignRecords(old, records)
	from, at := 0, 0 // where the next run begins, in records and in old
	for _, r := range runs {
		for len(equal) > 0 && equal[0].Old+equal[0].Length < at+r.count {
			equal = equal[1:]
		}
		if len(equal) > 0 && equal[0].Old <= at {
			now := equal[0].New + at - equal[0].Old
			out, from = append(pack(out, records, from, now, fresh), r), now+r.count
		}
		at += r.count
	}
	return pack(out, records, from, len(records), fresh)
}

// pack appends the runs of records[from:to], which follow those of out. Runs before them
// that are short become part of the first one.
func pack(out []run, records []farm.Record, from, to int, fresh map[digest]string) []run {
	if from == to {
		return out
	}
	for n := len(out); n > 0 && out[n-1].count+to-from <= farm.PackedRun; n-- {
		from, out = from-out[n-1].count, out[:n-1]
	}
	var b []byte
	for from < to {
		n := min(to-from, farm.PackedRun)
		b = farm.AppendPacked(b[:0], records[from:from+n])
		r := run{sha256.Sum256(b), n}
		fresh[r.digest] = string(b)
		out, from = append(out, r), from+n
	}
	return out
}

// used returns the fresh runs that zones have, in their order.
func used(zones [][]run, fresh map[digest]string) (texts [][]byte) {
	for _, runs := range zones {
		for _, r := range runs {
			if text, is := fresh[r.digest]; is {
				texts = append(texts, []byte(text))
				delete(fresh, r.digest)
			}
		}
	}
	return texts
}

// withPacked returns f with the packed records of each zone, as texts says, in place of
// its records.
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

// headOf returns f with the digests of the runs in place of these. Its encoding is what
// follow has of a farm, and its digest is that of the farm: it stands for all of its bytes.
func headOf(f *farm.Farm, zones [][]run) *farm.Farm {
	return withPacked(f, zones, func(_ int, of []run) []string {
		texts := make([]string, len(of))
		for i := range of {
			texts[i] = string(of[i].digest[:])
		}
		return texts
	})
}

// full returns the encoding of a farm with all of its runs.
func (e *entry) full() ([]byte, error) {
	if e.runs == nil {
		return e.encoded, nil
	}
	return encoding.Marshal(withPacked(&e.farm, e.runs, func(zone int, of []run) (texts []string) {
		z := &e.farm.Global.Zones[zone]
		if len(z.Packed) > 0 {
			return z.Packed
		}
		records := z.Records
		for _, r := range of {
			texts = append(texts, string(farm.AppendPacked(nil, records[:r.count])))
			records = records[r.count:]
		}
		return texts
	}))
}

// identify completes an entry that was decoded from all bytes of a farm: its digest is
// the one that follow knows it by.
func (e *entry) identify() error {
	e.runs = make([][]run, len(e.farm.Global.Zones))
	var list []farm.Record
	for i := range e.farm.Global.Zones {
		z := &e.farm.Global.Zones[i]
		for _, packed := range z.Packed {
			r, err := runOf(packed, &list)
			if err != nil {
				return fmt.Errorf("zone %q: %w", z.Name, err)
			}
			e.runs[i], e.records = append(e.runs[i], r), e.records+uint64(r.count)
		}
		if err := unmixed(z); err != nil {
			return err
		}
	}
	b, err := encoding.Marshal(headOf(&e.farm, e.runs))
	e.digest = sha256.Sum256(b)
	return err
}

// unmixed returns an error for a zone that has packed records and others.
func unmixed(z *farm.Zone) error {
	if len(z.Packed) > 0 && len(z.Records) > 0 {
		return fmt.Errorf("zone %q has packed records and others", z.Name)
	}
	return nil
}

// runOf checks that a text is a packed run. It unpacks it into list.
func runOf(packed string, list *[]farm.Record) (run, error) {
	var ok bool
	if *list, ok = farm.Unpack((*list)[:0], packed); !ok || len(*list) == 0 {
		return run{}, fmt.Errorf("a packed run of %d bytes is none", len(packed))
	}
	return run{sha256.Sum256([]byte(packed)), len(*list)}, nil
}

// resolve replaces the digests of runs in the farm of an entry that was decoded from a
// head: by runs of base, and by fresh ones, all of which have to be in use.
func (e *entry) resolve(base *entry, fresh [][]byte) error {
	known := base.texts()
	unused := make(map[digest]bool, len(fresh))
	var list []farm.Record
	for _, b := range fresh {
		text := string(b)
		r, err := runOf(text, &list)
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
			if len(name) != sha256.Size {
				return fmt.Errorf("zone %q: a digest of %d bytes", z.Name, len(name))
			}
			d := digest([]byte(name))
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

// packed is the text of a run that was checked, and how many records it has.
type packed struct {
	text  string
	count int
}

// texts returns the runs of a farm by their digests.
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
