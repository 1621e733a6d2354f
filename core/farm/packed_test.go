package farm_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// packedRecords returns records with every field set and unset, and lengths near the
// limits of one-byte and two-byte uvarints.
func packedRecords() []farm.Record {
	return []farm.Record{
		{ID: 1, Name: "@", Type: "NS", Data: "ns1"},
		{ID: 127, Name: "www", Type: "A", TTL: 60, Data: "192.0.2.1", Comment: "the shop"},
		{ID: 128, Name: strings.Repeat("x", 127), Type: "TXT", TTL: farm.NoTTL, Data: strings.Repeat("y", 128)},
		{ID: 1<<32 - 1, TTL: 1<<32 - 1, Data: strings.Repeat("z", 1<<14)},
		{},
	}
}

func TestPackedRecordsRoundTrip(t *testing.T) {
	want := packedRecords()
	run := string(farm.AppendPacked(nil, want))
	got, ok := farm.Unpack(nil, run)
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%t, %+v", ok, got)
	}
	z := farm.Zone{Packed: []string{run, run}}
	if all := z.Unpacked(); !reflect.DeepEqual(all, append(want, want...)) {
		t.Errorf("two runs are %d records", len(all))
	}
	z = farm.Zone{Records: want}
	if all := z.Unpacked(); &all[0] != &want[0] {
		t.Error("records that are not packed were copied")
	}
	// Every field must be packed. If this fails, a new field is missing above.
	if n := reflect.TypeFor[farm.Record]().NumField(); n != 6 {
		t.Errorf("a record has %d fields, of which 6 are packed", n)
	}
}

func TestTruncatedOrOversizedRunIsRefused(t *testing.T) {
	one := farm.AppendPacked(nil, packedRecords()[2:3])
	for n := 1; n < len(one); n++ {
		if _, ok := farm.Unpack(nil, string(one[:n])); ok {
			t.Errorf("the first %d bytes of %d were accepted", n, len(one))
		}
	}
	many := farm.AppendPacked(nil, make([]farm.Record, farm.PackedRun))
	if list, ok := farm.Unpack(nil, string(many)); !ok || len(list) != farm.PackedRun {
		t.Errorf("%d records: %t", len(list), ok)
	}
	if _, ok := farm.Unpack(nil, string(farm.AppendPacked(many, make([]farm.Record, 1)))); ok {
		t.Error("a run that is too long was accepted")
	}
	for _, number := range []string{"\x80\x80\x80\x80\x10", "\x80\x80\x80\x80\x80\x00", "\xff\xff\xff\xff\xff"} {
		if _, ok := farm.Unpack(nil, number+strings.Repeat("\x00", 5)); ok {
			t.Errorf("%x was accepted as a number of 32 bits", number)
		}
	}
}

// FuzzUnpack expects equal records after another round of packing.
func FuzzUnpack(f *testing.F) {
	f.Add(string(farm.AppendPacked(nil, packedRecords()[:3])))
	f.Add("\x01\x00\x01A\x00\x00\x00")
	f.Add("\x81\x00\x00\x00\x00\x00\x00")
	f.Fuzz(func(t *testing.T, run string) {
		list, ok := farm.Unpack(nil, run)
		if !ok {
			return
		}
		again, ok := farm.Unpack(nil, string(farm.AppendPacked(nil, list)))
		if !ok || !reflect.DeepEqual(again, list) {
			t.Fatalf("%t: got %+v, want %+v", ok, again, list)
		}
	})
}

// CountPacked and Unpack agree about every input.
func TestCountPackedAgreesWithUnpack(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 2000 {
		list := make([]farm.Record, random.IntN(4))
		if random.IntN(100) == 0 {
			list = make([]farm.Record, farm.PackedRun-1+random.IntN(3))
		}
		for i := range list {
			list[i] = farm.Record{ID: random.Uint32(), Name: strings.Repeat("a", random.IntN(200)), Type: "A", Data: "192.0.2.1"}
		}
		run := farm.AppendPacked(nil, list)
		if len(run) > 0 && random.IntN(2) == 0 {
			run[random.IntN(len(run))] = byte(random.Uint32())
			run = run[:random.IntN(len(run)+1)]
		}
		all, want := farm.Unpack(nil, string(run))
		if n, ok := farm.CountPacked(string(run)); ok != want || ok && n != len(all) {
			t.Fatalf("%q: got %d, %t, want %d, %t", run, n, ok, len(all), want)
		}
	}
}
