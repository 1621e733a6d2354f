package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// recordList returns n records.
func recordList(n int) []farm.Record {
	out := make([]farm.Record, n)
	for i := range out {
		out[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"}
	}
	return out
}

// editor makes random edits of a list of records.
type editor struct {
	*rand.Rand
	last, farms uint32
}

func (e *editor) record() farm.Record {
	e.last++
	return farm.Record{ID: e.last, Name: fmt.Sprint("n", e.last), Type: []farm.RecordType{"A", "AAAA", "TXT"}[e.IntN(3)],
		TTL: farm.Seconds(e.IntN(3)), Data: fmt.Sprint(e.IntN(1000)), Comment: []string{"", "", "x"}[e.IntN(3)]}
}

// edit returns another list: some records changed, inserted, deleted or moved.
func (e *editor) edit(records []farm.Record) []farm.Record {
	out := slices.Clone(records)
	for range 1 + e.IntN(4) {
		at := 0
		if len(out) > 0 {
			at = e.IntN(len(out))
		}
		n := min(e.IntN(3)*e.IntN(600), len(out)-at)
		switch e.IntN(7) {
		case 0, 1:
			if len(out) > 0 {
				out[at].Data = fmt.Sprint("c", e.IntN(1000))
			}
		case 2:
			out = append(out, e.record())
		case 3:
			var more []farm.Record
			for range e.IntN(3) * e.IntN(1500) {
				more = append(more, e.record())
			}
			out = slices.Insert(out, at, more...)
		case 4:
			out = slices.Delete(out, at, at+n)
		case 5:
			out = slices.Delete(out, 0, min(len(out), 1))
		case 6:
			out = slices.Insert(out, 0, e.record())
		}
	}
	if len(out) > 9000 {
		out = slices.Delete(out, 100, 5000)
	}
	return out
}

func TestChunksFollowEveryEdit(t *testing.T) {
	e := &editor{Rand: rand.New(rand.NewPCG(5, 6)), last: 5000}
	records := recordList(5000)
	last := uint32(0)
	id := func() uint32 { last++; return last }
	d := divide(nil, nil, len(records), id)
	content := map[uint32][]farm.Record{}
	for round := range 150 {
		for _, c := range d.gone {
			delete(content, c)
		}
		for _, s := range d.fresh {
			content[d.chunks[s.chunk].id] = records[s.from:s.to]
		}
		var all []farm.Record
		seen := map[uint32]bool{}
		for i, c := range d.chunks {
			if seen[c.id] || len(content[c.id]) != int(c.count) || c.count == 0 || c.count > chunkMost || c.count < chunkLeast && len(d.chunks) > 1 && i > 0 {
				t.Fatalf("round %d: chunk %d is %+v", round, i, c)
			}
			seen[c.id] = true
			all = append(all, content[c.id]...)
		}
		if !slices.Equal(all, records) || len(seen) != len(content) {
			t.Fatalf("round %d: the chunks hold %d records of %d, and %d of %d are in use", round, len(all), len(records), len(seen), len(content))
		}
		next := e.edit(records)
		d = divide(d.chunks, farm.AlignRecords(records, next), len(next), id)
		records = next
	}
}

// A record that is inserted, deleted or changed affects one or two chunks.
func TestAnEditOfARecordConcernsItsChunk(t *testing.T) {
	records := recordList(20_000)
	last := uint32(0)
	id := func() uint32 { last++; return last }
	old := divide(nil, nil, len(records), id).chunks
	for _, at := range []int{0, 1, 1023, 1024, 9_999, 19_999} {
		changed := slices.Clone(records)
		changed[at].Data = "x"
		fresh := farm.Record{ID: 30_000, Name: "new"}
		for name, next := range map[string][]farm.Record{
			"changed": changed, "deleted": slices.Delete(slices.Clone(records), at, at+1),
			"inserted": slices.Insert(slices.Clone(records), at, fresh), "appended": append(slices.Clone(records), fresh),
		} {
			d := divide(old, farm.AlignRecords(records, next), len(next), id)
			written := 0
			for _, s := range d.fresh {
				written += s.to - s.from
			}
			if len(d.fresh) > 2 || written > chunkMost || len(d.gone) > 1 {
				t.Errorf("%s at %d: %d chunks of %d records are written", name, at, len(d.fresh), written)
			}
		}
	}
}

func TestAChunkHoldsEverythingOfARecord(t *testing.T) {
	var full farm.Record
	fill(t, reflect.ValueOf(&full).Elem())
	e := &editor{Rand: rand.New(rand.NewPCG(7, 8))}
	for _, n := range []int{1, 2, 1000} {
		records := []farm.Record{full}
		for len(records) < n {
			records = append(records, e.record())
		}
		records = append(records, farm.Record{ID: 3, Name: "\xff", Type: "TYPE65534"}, full)
		sealed, err := chunkPiece(records)
		if err != nil {
			t.Fatal(err)
		}
		var back farm.Zone
		runs, err := readChunk(sealed, len(records))
		if back.SetRuns(runs); err != nil || !slices.Equal(back.Unpacked(), records) {
			t.Errorf("%d records: %v", len(records), err)
		}
		for _, wrong := range []int{0, len(records) - 1, len(records) + 1} {
			if _, err := readChunk(sealed, wrong); err == nil {
				t.Errorf("%d records are read as %d", len(records), wrong)
			}
		}
	}
	whole := chunkOf(recordList(3))
	for name, bad := range map[string]chunk{"cut off": {whole[0][:len(whole[0])-1]}, "no record": append(whole, "\x80")} {
		if _, err := bad.appendTo(nil); !errors.Is(err, errChunk) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnEditOfAZoneMakesTheNewRecords(t *testing.T) {
	e := &editor{Rand: rand.New(rand.NewPCG(9, 1)), last: 3000}
	old := recordList(3000)
	for round := range 100 {
		next := e.edit(old)
		cuts, _ := cutsBetween(len(old), &farm.Zone{Records: next}, farm.AlignRecords(old, next))
		plain, err := plainItem((&zoneEdit{2, 4, cuts}).item())
		if err != nil {
			t.Fatal(err)
		}
		var item zoneItem
		if err := unpacking.Unmarshal(plain, &item); err != nil {
			t.Fatal(err)
		}
		back, err := item.edit()
		if err != nil || back.zone != 2 || back.base != 4 {
			t.Fatalf("round %d: %+v %v", round, back, err)
		}
		before := slices.Clone(old)
		if got, err := back.applyTo(old, false); err != nil || !slices.Equal(got, next) || !slices.Equal(old, before) {
			t.Fatalf("round %d: %v", round, err)
		}
		if got, err := back.applyTo(before, true); err != nil || !slices.Equal(got, next) {
			t.Fatalf("round %d, in place: %v", round, err)
		}
		old = next
	}
	for name, cuts := range map[string][]recordCut{
		"beyond the end": {{2, 2, nil}}, "backwards": {{2, 1, nil}, {1, 1, nil}}, "twice": {{0, 2, nil}, {1, 1, nil}},
	} {
		if _, err := (&zoneEdit{cuts: cuts}).applyTo(recordList(3), true); err == nil {
			t.Errorf("%s: it is applied", name)
		}
	}
	for name, item := range map[string]zoneItem{
		"too few": {Cuts: []byte{0, 0, 1}}, "too many": {Records: chunkOf(recordList(1))}, "cut off": {Cuts: []byte{0, 0}},
	} {
		if _, err := item.edit(); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
}

// Records that are inserted one by one at the start do not create chunks of one record each.
func TestRecordsAtTheBeginningShareAChunk(t *testing.T) {
	last := uint32(0)
	id := func() uint32 { last++; return last }
	records := recordList(3000)
	chunks := divide(nil, nil, len(records), id).chunks
	before := len(chunks)
	for n := range uint32(200) {
		next := slices.Insert(slices.Clone(records), 0, farm.Record{ID: 4000 + n})
		chunks = divide(chunks, farm.AlignRecords(records, next), len(next), id).chunks
		records = next
	}
	if len(chunks) > before+1 {
		t.Errorf("%d chunks became %d", before, len(chunks))
	}
}
