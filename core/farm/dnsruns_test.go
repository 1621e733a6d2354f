package farm_test

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// manyRecords returns n records with increasing numbers, some with equal names, types and
// optional fields.
func manyRecords(random *rand.Rand, n int) []farm.Record {
	list := make([]farm.Record, n)
	for i := range list {
		list[i] = someRecord(random)
		list[i].ID = uint32(i + 1)
	}
	return list
}

func someRecord(random *rand.Rand) farm.Record {
	r := farm.Record{Name: fmt.Sprint("h", random.IntN(3000)), Type: "A", Data: fmt.Sprint("192.0.2.", random.IntN(3))}
	switch random.IntN(40) {
	case 0:
		r.Type = "AAAA"
	case 1:
		r.TTL = 60
	case 2:
		r.Comment = "two\nlines"
	case 3:
		r.Name = strings.ToUpper(r.Name)
	case 4:
		r.Name = `\104` + r.Name[1:]
	case 5:
		r.Name += ".example.com."
	}
	return r
}

// packedZone returns a packed zone with these records.
func packedZone(list []farm.Record) *farm.Zone {
	z := &farm.Zone{Name: "example.com", Records: slices.Clone(list), LastRecord: uint32(len(list))}
	z.Pack(nil)
	return z
}

func selectRecords(some iter.Seq2[int, farm.Record], keep func(farm.Record) bool) (out []farm.Record) {
	for _, r := range some {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// edit makes the same random edit of a zone and of a list.
func edit(random *rand.Rand, z *farm.Zone, list []farm.Record) []farm.Record {
	at := 0
	if len(list) > 0 {
		at = random.IntN(len(list))
	}
	switch n := random.IntN(9); {
	case n < 2 || len(list) == 0:
		r := someRecord(random)
		z.Append(r)
		return append(list, r)
	case n == 2:
		more := make([]farm.Record, random.IntN(2*farm.PackedRun))
		for i := range more {
			more[i] = someRecord(random)
		}
		z.Append(more...)
		return append(list, more...)
	case n == 3:
		for range min(len(list)-at, random.IntN(1200)) { // whole runs
			z.Delete(at)
			list = slices.Delete(list, at, at+1)
		}
	case n == 8: // several at once
		set, gone, next := map[int]farm.Record{}, map[int]bool{}, []farm.Record(nil)
		for i, r := range list {
			switch random.IntN(2000) {
			case 0:
				r.Data = "192.0.2.9"
				set[i] = r
			case 1:
				gone[i] = true
				continue
			}
			next = append(next, r)
		}
		z.Edit(set, gone)
		return next
	case n == 4:
		z.Delete(at)
		list = slices.Delete(list, at, at+1)
	case n == 5: // the number of another record
		r := list[random.IntN(len(list))]
		z.Set(at, r)
		list[at] = r
	case n == 6: // a record that loses its number, or another comment
		r := list[at]
		if random.IntN(2) == 0 {
			r.ID = 0
		} else {
			r.Comment = "new"
		}
		z.Set(at, r)
		list[at] = r
	default:
		r := someRecord(random)
		r.ID = list[at].ID
		z.Set(at, r)
		list[at] = r
	}
	return list
}

// Every method of a packed zone gives the same result as a scan of the list.
func TestPackedRecordsAreEditedAndFoundAsAList(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 8 {
		list := manyRecords(random, farm.PackFrom+random.IntN(2*farm.PackedRun))
		z := packedZone(list)
		if len(z.Records) > 0 {
			t.Fatal("a large zone is not packed")
		}
		for range 10 {
			list = edit(random, z, list)
			same(t, z, list)
		}
		if z.Pack(nil); (len(list) < farm.PackFrom) != (len(z.Packed) == 0) {
			t.Fatalf("%d records are in %d runs", len(list), len(z.Packed))
		}
		same(t, z, list)
	}
}

func same(t *testing.T, z *farm.Zone, list []farm.Record) {
	t.Helper()
	all := func(farm.Record) bool { return true }
	if got := selectRecords(z.All(), all); z.Len() != len(list) || !slices.Equal(got, list) {
		t.Fatalf("the zone has %d records, of which %d are listed, want %d", z.Len(), len(got), len(list))
	}
	if len(list) == 0 {
		return
	}
	for _, at := range []int{0, len(list) / 3, len(list) - 1} {
		r := list[at]
		named := func(of farm.Record) bool { return strings.EqualFold(of.Name, r.Name) }
		if z.At(at) != r {
			t.Fatalf("record %d is %+v, want %+v", at, z.At(at), r)
		}
		if got, want := selectRecords(z.MayBeNamed("none", r.Name), named), selectRecords(slices.All(list), named); !slices.Equal(got, want) {
			t.Fatalf("%d of %d records are named %s", len(got), len(want), r.Name)
		}
		if first := slices.IndexFunc(list, func(of farm.Record) bool { return of.ID == r.ID }); r.ID != 0 {
			if k, is := z.Positions([]int{1 << 30, int(r.ID) - 1})[int(r.ID)-1]; !is || list[k].ID != r.ID {
				t.Fatalf("number %d is at %d", r.ID-1, k)
			}
			if k, got := z.Find(int(r.ID) - 1); k != first || got != list[first] {
				t.Fatalf("number %d is %+v at %d, not at %d", r.ID-1, got, k, first)
			}
		}
		from, to := at/2, at
		if !slices.Equal(z.Slice(from, to), list[from:to]) {
			t.Fatalf("records %d to %d differ", from, to)
		}
		fields, lines := 0, false
		for _, r := range list[from:to] {
			for _, set := range []bool{r.TTL != 0, r.Comment != ""} {
				if set {
					fields++
				}
			}
			lines = lines || strings.Contains(r.Comment, "\n")
		}
		if n, is := z.OptionalFields(from, to); n != fields || lines && !is {
			t.Fatalf("records %d to %d have %d optional fields (%t), want %d (%t)", from, to, n, is, fields, lines)
		}
	}
	other := func(r farm.Record) bool { return r.Type == "AAAA" || r.Type == "MX" }
	if got, want := selectRecords(z.OfType("AAAA", "MX"), all), selectRecords(slices.All(list), other); !slices.Equal(got, want) {
		t.Fatalf("%d of %d records are of these types", len(got), len(want))
	}
	types := map[farm.RecordType]bool{}
	for _, r := range list {
		types[r.Type] = true
	}
	if got, want := slices.Sorted(slices.Values(z.Types())), slices.Sorted(maps.Keys(types)); !slices.Equal(got, want) {
		t.Fatalf("the types are %v, want %v", got, want)
	}
}

// A name with several spellings is found by each of them.
func TestNameLookupIgnoresSpelling(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for _, name := range []string{"H9999", `\104\057999`, "h9999.example.com.", "ä9999"} {
		list := manyRecords(random, 4*farm.PackedRun)
		list[1500].Name = name
		found := func(asked string) bool {
			named := func(r farm.Record) bool { return r.Name == name }
			return len(selectRecords(packedZone(list).MayBeNamed(asked), named)) == 1
		}
		for _, asked := range []string{"h9999", "h9999.example.com.", `\1049999`, name} {
			if !found(asked) && !(name == "H9999" && asked == "ä9999") {
				t.Errorf("%s is not among the candidates for %s", name, asked)
			}
		}
	}
}

// A search for a name skips most runs that lack it.
func TestASearchReadsFewRuns(t *testing.T) {
	list := make([]farm.Record, 200*farm.PackedRun)
	for i := range list {
		list[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.1"}
	}
	read := len(selectRecords(packedZone(list).MayBeNamed("h77777"), func(farm.Record) bool { return true }))
	if read == 0 || read > 10*farm.PackedRun {
		t.Errorf("%d records of %d are read", read, len(list))
	}
}

// Zones are aligned like their lists: records in a run are equal, and all others are new,
// deleted or changed.
func TestPackedZonesAreAligned(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 30 {
		list := manyRecords(random, farm.PackFrom+random.IntN(4*farm.PackedRun))
		old := packedZone(list)
		now, next := *old, slices.Clone(list)
		for range random.IntN(4) {
			next = edit(random, &now, next)
		}
		if random.IntN(3) == 0 {
			now.Pack(nil)
		}
		if random.IntN(3) == 0 {
			now.Unpack()
			now.Pack(old)
		}
		covered := func(runs []farm.RecordRun) (n int) {
			i, j := 0, 0
			for _, run := range runs {
				if run.Old < i || run.New < j || run.Length == 0 || !slices.Equal(list[run.Old:][:run.Length], next[run.New:][:run.Length]) {
					t.Fatalf("run %v after %d and %d", run, i, j)
				}
				i, j, n = run.Old+run.Length, run.New+run.Length, n+run.Length
			}
			return n
		}
		got, want := covered(farm.AlignZones(old, &now)), covered(farm.AlignRecords(list, next))
		if got < want-farm.PackedRun/8 {
			t.Fatalf("%d records are found again, %d in the lists", got, want)
		}
		if back := covered(farm.AlignZones(old, &farm.Zone{Records: next})); back != want {
			t.Fatalf("%d records of a list are found again, want %d", back, want)
		}
	}
}

// A zone that is packed again shares the runs of unchanged records.
func TestRunsOfRecordsThatStayAreShared(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	list := manyRecords(random, 20*farm.PackedRun)
	old := packedZone(list)
	now := farm.Zone{Records: slices.Clone(list)}
	now.Records[5*farm.PackedRun].Data = "192.0.2.77"
	now.Records = slices.Delete(now.Records, 9*farm.PackedRun, 9*farm.PackedRun+3)
	now.Records = append(now.Records, farm.Record{ID: 1 << 20, Name: "new"})
	want := slices.Clone(now.Records)
	now.Pack(old)
	shared := 0
	for _, run := range now.Packed {
		if slices.Contains(old.Packed, run) {
			shared++
		}
	}
	if got := now.Unpacked(); shared < 17 || !slices.Equal(got, want) {
		t.Errorf("%d of %d runs are shared", shared, len(now.Packed))
	}
}

// A change of few records reads few records, even if others move.
func TestAFewChangesReadFewRecords(t *testing.T) {
	list := manyRecords(rand.New(rand.NewPCG(17, 18)), 50*farm.PackedRun)
	before := &farm.GSLB{Zones: []farm.Zone{*packedZone(list)}}
	before.Zones[0].ID = 1
	f := farm.Farm{Global: before}
	now := f.Clone().Global
	z := &now.Zones[0]
	z.Delete(20 * farm.PackedRun)
	z.Append(farm.Record{Name: "new", Type: "A", Data: "192.0.2.1"})
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	now.Follow(before, 1)
	runtime.ReadMemStats(&end)
	if got := end.TotalAlloc - start.TotalAlloc; got > 2<<20 {
		t.Errorf("%d bytes are used for %d records", got, len(list))
	}
}

// A packed zone gets the same numbers and serial as an unpacked one.
func TestPackedRecordsAreNumberedAsAList(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for range 40 {
		list := manyRecords(random, farm.PackFrom+farm.PackedRun+random.IntN(3*farm.PackedRun))
		if random.IntN(4) == 0 { // ranges of numbers overlap
			random.Shuffle(len(list), func(i, j int) { list[i].ID, list[j].ID = list[j].ID, list[i].ID })
		}
		before := &farm.GSLB{Zones: []farm.Zone{*packedZone(list)}, LastZone: 1}
		before.Zones[0].ID, before.Zones[0].Serial = 1, 7
		if random.IntN(4) == 0 {
			before.Zones[0].LastRecord = 0
		}
		f := farm.Farm{Global: before}
		next := slices.Clone(list)
		quick := f.Clone().Global
		for range random.IntN(4) {
			next = edit(random, &quick.Zones[0], next)
		}
		if runs := quick.Zones[0].Packed; random.IntN(3) == 0 && len(runs) > 1 { // the first ones in another order, or twice
			z := farm.Zone{Packed: []string{runs[1], runs[random.IntN(2)]}}
			z.Packed = append(z.Packed, runs[2:]...)
			quick.Zones[0].Packed, next = z.Packed, z.Unpacked()
		}
		whole, plain := f.Clone().Global, f.Clone().Global
		whole.Zones[0].SetRecords(slices.Clone(next))
		plain.Zones[0].Unpack()
		quick.Follow(before, 1)
		whole.Follow(plain, 1)
		a, b := &quick.Zones[0], &whole.Zones[0]
		if !slices.Equal(a.Unpacked(), b.Unpacked()) || a.Serial != b.Serial || a.LastRecord != b.LastRecord {
			for i, r := range b.Unpacked() {
				if i < a.Len() && a.At(i) != r {
					t.Fatalf("record %d is %+v, want %+v", i, a.At(i), r)
				}
			}
			t.Fatalf("%d records with serial %d and last number %d, want %d with %d and %d", a.Len(), a.Serial, a.LastRecord, b.Len(), b.Serial, b.LastRecord)
		}
		if !slices.Equal(before.Zones[0].Unpacked(), list) {
			t.Fatal("the zone before was changed")
		}
		if len(next) >= farm.PackFrom && len(a.Packed) == 0 {
			t.Fatal("it is not packed")
		}
	}
}
