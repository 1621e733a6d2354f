package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// farmsWithIDs returns valid farms with these IDs.
func farmsWithIDs(ids ...uint32) *farm.Config {
	cfg := &farm.Config{Farms: []farm.Farm{}}
	for _, id := range ids {
		f := farm.Farm{ID: id, Name: fmt.Sprint("farm", id), Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("192.0.2.1"), VPort: uint16(id), HTTP: farm.DefaultHTTP()}
		f.HTTP.Services = []farm.Service{{ID: id, Backends: []farm.Backend{{ID: id, Host: "192.0.2.9", Addr: netip.MustParseAddr("192.0.2.9"), Port: 80}}}}
		cfg.Farms = append(cfg.Farms, f)
	}
	return cfg
}

// load publishes cfg with w and returns the configuration that r loads.
func load(t *testing.T, w *snapshot.Writer, r *snapshot.Reader, cfg *farm.Config) *farm.Config {
	t.Helper()
	f, err := w.Publish(1, cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, back, err := r.Load(f)
	if err != nil || !reflect.DeepEqual(unpacked(back), unpacked(cfg)) {
		t.Fatalf("%v: decoded as %+v", err, back)
	}
	return back
}

// unpacked returns cfg with the packed records of its zones as records.
func unpacked(cfg *farm.Config) *farm.Config {
	out := *cfg
	out.Farms = slices.Clone(cfg.Farms)
	for i := range out.Farms {
		if f := &out.Farms[i]; f.Records() > 0 {
			f.OwnZones()
			for j := range f.Global.Zones {
				f.Global.Zones[j].Unpack()
			}
		}
	}
	return &out
}

// Large unchanged farms are also recognized. A farm that differs in one byte is decoded.
func TestLargeFarmsThatStayAreDecodedOnce(t *testing.T) {
	var w snapshot.Writer
	var r snapshot.Reader
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 53,
		Global: &farm.GSLB{Zones: []farm.Zone{{Name: "example.com", Records: make([]farm.Record, 10_000)}}}}}}
	for i := range cfg.Farms[0].Global.Zones[0].Records {
		cfg.Farms[0].Global.Zones[0].Records[i] = farm.Record{ID: uint32(i + 1), Name: fmt.Sprint("h", i), Type: "A", Data: "192.0.2.10"}
	}
	first := load(t, &w, &r, cfg)
	if again := load(t, &w, &r, &farm.Config{Farms: cfg.Farms, Certificates: []farm.Certificate{{Name: "a"}}}); !again.Farms[0].Same(&first.Farms[0]) {
		t.Error("a farm that stayed is not the same")
	}
	next := &farm.Config{Farms: []farm.Farm{cfg.Farms[0].Clone()}}
	next.Farms[0].Global.Zones[0].Records[9_999].Data = "192.0.2.11"
	if changed := load(t, &w, &r, next); changed.Farms[0].Same(&first.Farms[0]) {
		t.Error("a farm that changed is the same")
	}
}

func TestFarmsThatStayAreDecodedOnce(t *testing.T) {
	var w snapshot.Writer
	var r snapshot.Reader
	cfg := farmsWithIDs(1, 2, 3)
	first := load(t, &w, &r, cfg)
	next := &farm.Config{Farms: []farm.Farm{cfg.Farms[2], cfg.Farms[1].Clone(), cfg.Farms[0]}, Certificates: []farm.Certificate{{Name: "a"}}}
	next.Farms[1].HTTP.Services[0].Backends[0].Port = 81
	second := load(t, &w, &r, next)
	if !second.Farms[0].Same(&first.Farms[2]) || !second.Farms[2].Same(&first.Farms[0]) ||
		second.Farms[1].Same(&first.Farms[1]) {
		t.Error("unchanged farms are not shared, or the changed one is")
	}
	if first.Farms[1].HTTP.Services[0].Backends[0].Port != 80 {
		t.Error("an earlier result changed")
	}
	load(t, &w, &r, &farm.Config{Farms: slices.Clone(next.Farms[:1])})
	if load(t, &w, &r, cfg).Farms[0].Same(&first.Farms[0]) {
		t.Error("a farm that was gone is remembered")
	}
}

// A refused snapshot does not replace the base of the next one.
func TestRefusedSnapshotIsNotReused(t *testing.T) {
	var w snapshot.Writer
	var r snapshot.Reader
	first := load(t, &w, &r, farmsWithIDs(1))
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := r.Load(f); err == nil {
		t.Fatal("it was accepted")
	}
	if _, err := w.Publish(2, farmsWithIDs(1, 1), 0); !errors.Is(err, snapshot.ErrConfig) {
		t.Fatal(err)
	}
	if again := load(t, &w, &r, farmsWithIDs(1)); !again.Farms[0].Same(&first.Farms[0]) {
		t.Error("the farm was forgotten")
	}
}

// The pieces of a snapshot form the encoding of the whole configuration, which older
// engines read.
func TestPiecesFormTheWholeEncoding(t *testing.T) {
	mode, err := cbor.EncOptions{BinaryMarshaler: cbor.BinaryMarshalerByteString}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	check := func(cfg *farm.Config) {
		t.Helper()
		b, err := snapshot.Encode(1, cfg)
		whole, other := mode.Marshal(cfg)
		if err != nil || other != nil || !bytes.Equal(b[snapshot.HeaderSize:], whole) {
			t.Fatalf("%v, %v: differs from the encoding of the whole", err, other)
		}
	}
	rapid.Check(t, func(rt *rapid.T) { check(anyConfig().Draw(rt, "cfg")) })
	for _, n := range []int{0, 1, 23, 24, 255, 256, 65535, 65536} {
		check(&farm.Config{Farms: make([]farm.Farm, n), Certificates: []farm.Certificate{{Name: "a"}}, Challenges: []farm.Challenge{{Token: "t"}}})
	}
	check(&farm.Config{Authorities: []farm.Authority{{Name: "a"}}})
}

// Only the IDs of known farms are checked again. A duplicate ID gives the same error as a
// check of everything.
func TestDuplicateIDOfAKnownFarmIsRefused(t *testing.T) {
	for name, take := range map[string]func(f *farm.Farm){
		"farm":    func(f *farm.Farm) { f.ID = 1 },
		"service": func(f *farm.Farm) { f.HTTP.Services[0].ID = 2 },
		"backend": func(f *farm.Farm) { f.HTTP.Services[0].Backends[0].ID = 2 },
		"nothing": func(*farm.Farm) {},
	} {
		for _, last := range []bool{false, true} {
			var w snapshot.Writer
			var r snapshot.Reader
			cfg := farmsWithIDs(1, 2)
			load(t, &w, &r, cfg)
			other := farmsWithIDs(3).Farms[0]
			take(&other)
			next := &farm.Config{Farms: append([]farm.Farm{other}, cfg.Farms...)}
			if last {
				next.Farms = append(slices.Clone(cfg.Farms), other)
			}
			f, err := shm.Sealed("snapshot", encoded(t, 2, next))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = r.Load(f)
			_ = f.Close()
			want := snapshot.Check(next)
			if (err == nil) != (want == nil) || err != nil && !strings.HasSuffix(err.Error(), want.Error()) {
				t.Errorf("%s, last %t: %v, want %v", name, last, err, want)
			}
			load(t, &w, &r, cfg) // the state is intact
		}
	}
}
