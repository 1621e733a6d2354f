package zone

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// manyRecords returns a zone whose records share few names, some below others, as short
// packed runs or as a list.
func manyRecords(random *rand.Rand, packed bool) farm.Zone {
	z := farm.Zone{Name: "example", Serial: 1, NameServer: "a"}
	labels := []string{"a", "b", "*", "cc", "d"}
	forms := [][2]string{{"A", "192.0.2.%d"}, {"A", "192.0.2.%d"}, {"TXT", "text%d"}, {"MX", "10 a%d.b"}, {"NS", "ns%d"}, {"DNAME", "other%d."}, {"CNAME", "a%d"}}
	var list []farm.Record
	for id := range uint32(9000 + random.IntN(9000)) {
		name := make([]string, 1+random.IntN(4))
		for i := range name {
			name[i] = labels[random.IntN(len(labels))]
		}
		if random.IntN(3) > 0 {
			name[0] = fmt.Sprint("h", id)
		}
		form := forms[random.IntN(len(forms))]
		list = append(list, farm.Record{ID: id + 1, Name: strings.Join(name, "."), Type: farm.RecordType(form[0]), Data: fmt.Sprintf(form[1], random.IntN(3))})
	}
	if !packed {
		z.Records = list
		return z
	}
	for run := range slices.Chunk(list, 100) {
		z.Packed = append(z.Packed, string(farm.AppendPacked(nil, run)))
	}
	return z
}

// The number of workers does not affect the bytes of the table.
func TestParallelCompilationMakesTheSameTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 8 {
		g := &farm.GSLB{Zones: []farm.Zone{manyRecords(random, round%2 == 0), {Name: "b.example", Serial: 3}}}
		want, err := compile(g, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{2, 3, 16} {
			got, err := compile(g, workers)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("round %d: %d workers make another table than one", round, workers)
			}
		}
	}
}

// The error belongs to the first invalid record, even if workers find others first.
func TestWorkersReportTheFirstError(t *testing.T) {
	for _, packed := range []bool{true, false} {
		g := &farm.GSLB{Zones: []farm.Zone{{Name: "example", Serial: 1}}}
		var list []farm.Record
		for id := range uint32(20 * farm.PackedRun) {
			r := farm.Record{ID: id + 1, Name: fmt.Sprint("h", id), Type: "A", Data: "192.0.2.1"}
			if id >= 7000 {
				r.Data = "no address"
			}
			list = append(list, r)
		}
		if z := &g.Zones[0]; packed {
			for run := range slices.Chunk(list, farm.PackedRun) {
				z.Packed = append(z.Packed, string(farm.AppendPacked(nil, run)))
			}
		} else {
			z.Records = list
		}
		for _, workers := range []int{1, 2, 5} {
			if _, err := compile(g, workers); err == nil || !strings.Contains(err.Error(), "record 7000 (h7000 A)") {
				t.Errorf("packed %v, %d workers: the error is %v, want that of record 7000", packed, workers, err)
			}
		}
	}
}

// Empty non-terminals can outnumber the records, which makes the index grow.
func TestNamesAboveOthersGrowTheIndex(t *testing.T) {
	g := &farm.GSLB{Zones: []farm.Zone{{Name: "example", Serial: 1}}}
	for i := range 400 {
		g.Zones[0].Records = append(g.Zones[0].Records, farm.Record{ID: uint32(i + 1), Name: fmt.Sprintf("a.b.c.d.e.f.h%d", i), Type: "A", Data: "192.0.2.1"})
	}
	table, err := compile(g, 2)
	if err != nil {
		t.Fatal(err)
	}
	if most := int(table.index.mask) * 7 / 8; table.index.used > most || table.index.used != 1+7*400 {
		t.Errorf("%d names are in an index of %d slots, want %d in one with room", table.index.used, table.index.mask+1, 1+7*400)
	}
	for i := range 400 {
		name := append([]byte("\x01a\x01b\x01c\x01d\x01e\x01f"), append([]byte{byte(len(fmt.Sprint("h", i)))}, fmt.Sprintf("h%d\x07example\x00", i)...)...)
		for len(name) > len("\x07example\x00") {
			if table.at(name, hashOf(name)) == 0 {
				t.Fatalf("%q is not in the table", name)
			}
			name = name[1+int(name[0]):]
		}
	}
}
