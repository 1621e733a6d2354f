package snapshot

import (
	"bytes"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// largeFarm returns a gslb farm whose zones have that many records. Some runs are equal.
func largeFarm(sizes ...int) *farm.Farm {
	g := &farm.GSLB{}
	for i, n := range sizes {
		z := farm.Zone{Name: fmt.Sprint("zone", i), LastRecord: 7}
		for range n {
			z.Records = append(z.Records, farm.Record{ID: 1, Name: "a", Type: "A", Data: "192.0.2.1"})
		}
		g.Zones = append(g.Zones, z)
	}
	return &farm.Farm{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 53, Global: g}
}

// The pieces of a farm equal its encoding by the library, before and after publication.
func TestPiecesEqualTheEncodingOfTheLibrary(t *testing.T) {
	for _, sizes := range [][]int{{128}, {127, 128, 3}, {1024, 0, 1025}, {5000, 2048, 5001}} {
		f := largeFarm(sizes...)
		e, err := new(Writer).entry(0, f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := encoding.Marshal(withPacked(f, e.runs, func(zone int, of []run) (texts []string) {
			records := f.Global.Zones[zone].Records
			for _, r := range of {
				texts = append(texts, string(farm.AppendPacked(nil, records[:r.count])))
				records = records[r.count:]
			}
			return texts
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, published := range []bool{false, true} {
			if published {
				e.fresh = nil
			}
			all, err := e.full()
			if err != nil || !bytes.Equal(slices.Concat(all...), want) {
				t.Errorf("zones of %v records, published %t: %v, or the pieces are another encoding", sizes, published, err)
			}
		}
		back, err := decodeFarm(want)
		if err != nil || back.digest != e.digest || !reflect.DeepEqual(back.runs, e.runs) {
			t.Errorf("zones of %v records: %v, or the reader knows the farm by another digest", sizes, err)
		}
	}
}

// A digest that is missing from the encoding is an error.
func TestEveryDigestMustBeInTheEncoding(t *testing.T) {
	e, err := new(Writer).entry(0, largeFarm(3000))
	if err != nil {
		t.Fatal(err)
	}
	e.runs[0][1].digest[0]++
	if _, err := e.full(); err == nil {
		t.Error("a run was left out")
	}
}

// A run that becomes part of the next one is not packed separately.
func TestShortRunsBecomePartOfTheNextOne(t *testing.T) {
	var d division
	d.divide(0, 10)
	d.runs = append(d.runs, run{count: 20}) // an existing run
	d.divide(30, 40)
	if want := []span{{0, 0}}; len(d.runs) != 1 || d.runs[0].count != 40 || !slices.Equal(d.missing, want) {
		t.Errorf("got the runs %+v, of which %+v are missing; want one of 40 records, which is missing", d.runs, d.missing)
	}
}

// Authors of records can compute the digests of runs, so a text must not pass for a
// digest.
func TestTextsAreNotMistakenForDigests(t *testing.T) {
	f := largeFarm(1, 1025)
	e, err := new(Writer).entry(0, f)
	if err != nil {
		t.Fatal(err)
	}
	d := e.runs[1][0].digest
	f.Global.Zones[0].Records[0].Comment = string(d[:])
	b, err := Encode(1, &farm.Config{Farms: []farm.Farm{*f}})
	if err != nil {
		t.Fatal(err)
	}
	_, cfg, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Global.Zones {
		if got, want := cfg.Farms[0].Global.Zones[i].Unpacked(), f.Global.Zones[i].Records; !slices.Equal(got, want) {
			t.Errorf("zone %d: got %d records, the first with comment %q, want %d", i, len(got), got[0].Comment, len(want))
		}
	}
}
