package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/fxamacker/cbor/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// names returns a gslb farm whose zones have that many records.
func names(id uint32, sizes ...int) farm.Farm {
	g := &farm.GSLB{}
	for i, n := range sizes {
		z := farm.Zone{ID: uint32(i + 1), Name: fmt.Sprint("zone", i), Serial: 1}
		for j := range n {
			z.Records = append(z.Records, farm.Record{ID: uint32(j + 1), Name: fmt.Sprint("h", j), Type: "A", Data: fmt.Sprintf("192.0.%d.%d", i, j%250)})
		}
		g.Zones = append(g.Zones, z)
	}
	return farm.Farm{ID: id, Name: fmt.Sprint("names", id), Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("192.0.2.1"), VPort: 53, Global: g}
}

// edited returns cfg with a few random changes of the farms' zones.
func edited(random *rand.Rand, cfg *farm.Config) *farm.Config {
	next := &farm.Config{Farms: slices.Clone(cfg.Farms)}
	f := &next.Farms[random.IntN(len(next.Farms))]
	f.OwnZones()
	zones := f.Global.Zones
	z := &zones[random.IntN(len(zones))]
	z.Serial++
	was := *z
	z.SetRecords(slices.Clone(z.Unpacked()))
	if random.IntN(2) == 0 {
		defer func() {
			for i := range zones { // the position may differ
				if zones[i].ID == was.ID {
					zones[i].Pack(&was)
				}
			}
		}()
	}
	at := func() int { return random.IntN(len(z.Records)) }
	record := farm.Record{ID: 1 << 20, Name: fmt.Sprint("new", random.IntN(99)), Type: "A", Data: "192.0.2.9"}
	for range 1 + random.IntN(3) {
		switch random.IntN(9) {
		case 0:
			z.Records = append(z.Records, record)
		case 1:
			z.Records = slices.Insert(z.Records, at(), record)
		case 2:
			z.Records[at()].Data = "192.0.2.7"
		case 3:
			from := at()
			z.Records = slices.Delete(z.Records, from, from+random.IntN(min(len(z.Records)-from, 2000)))
		case 4:
			i, j := at(), at()
			z.Records[i], z.Records[j] = z.Records[j], z.Records[i]
		case 5:
			zones[0], zones[len(zones)-1] = zones[len(zones)-1], zones[0]
			return next
		case 6:
			for range 500 {
				z.Records = append(z.Records, record)
			}
		case 7:
			z.Name += "x"
		case 8: // an equal copy
		}
	}
	if random.IntN(5) == 0 {
		next.Farms[0], next.Farms[len(next.Farms)-1] = next.Farms[len(next.Farms)-1], next.Farms[0]
	}
	return next
}

// After any change in large zones, the reader has the written configuration. A whole
// snapshot yields the same configuration and the same digests, so the next one can follow
// either.
func TestLargeZonesAreEncodedIncrementally(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 40 {
		var p pair
		cfg := &farm.Config{Farms: []farm.Farm{names(1, 3000, 127, 128), names(2, 10, 1500), names(3, 129)}}
		if _, _, err := p.publish(cfg); err != nil {
			t.Fatal(err)
		}
		for range 12 {
			cfg = edited(random, cfg)
			back, _, err := p.publish(cfg)
			if err != nil || !reflect.DeepEqual(unpacked(back), unpacked(cfg)) {
				t.Fatalf("%v: the decoded configuration differs", err)
			}
			again, err := snapshot.Encode(p.generation, back)
			if err != nil {
				t.Fatal(err)
			}
			if _, third, err := snapshot.Decode(again); err != nil || !reflect.DeepEqual(third, back) {
				t.Fatalf("%v: decoding again yields another configuration", err)
			}
			if random.IntN(4) == 0 { // a new engine reads a whole snapshot and continues from there
				p.reader, p.read = snapshot.Reader{}, 0
				if back, _, err = p.publish(cfg); err != nil || !reflect.DeepEqual(unpacked(back), unpacked(cfg)) {
					t.Fatalf("%v: the decoded whole differs", err)
				}
			}
		}
	}
}

// A changed record adds one run to the snapshot, and the other runs keep their memory.
func TestAChangedRecordTakesOneRun(t *testing.T) {
	const records = 100_000
	var p pair
	cfg := &farm.Config{Farms: []farm.Farm{names(1, records, 20_000)}}
	before, whole, err := p.publish(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i, edit := range []func(z *farm.Zone){
		func(z *farm.Zone) { z.Records[50_000].Data = "192.0.2.251" },
		func(z *farm.Zone) {
			z.Records = append(z.Records, farm.Record{ID: records + 1, Name: "new", Type: "A", Data: "192.0.2.1"})
		},
		func(z *farm.Zone) { z.Records = slices.Delete(z.Records, 7, 8) },
		func(z *farm.Zone) { z.Records = slices.Insert(z.Records, 0, farm.Record{ID: records + 2}) },
	} {
		next := &farm.Config{Farms: slices.Clone(cfg.Farms)}
		next.Farms[0] = next.Farms[0].Clone()
		edit(&next.Farms[0].Global.Zones[0])
		back, size, err := p.publish(next)
		if err != nil || !reflect.DeepEqual(unpacked(back), next) || size > whole/20 {
			t.Fatalf("edit %d: %v, %d bytes of %d", i, err, size, whole)
		}
		was := map[*byte]bool{}
		for _, run := range before.Farms[0].Global.Zones[0].Packed {
			was[unsafe.StringData(run)] = true
		}
		moved := 0
		for _, run := range back.Farms[0].Global.Zones[0].Packed {
			if !was[unsafe.StringData(run)] {
				moved++
			}
		}
		if moved > 2 {
			t.Errorf("edit %d: %d runs changed", i, moved)
		}
		cfg, before = next, back
	}
}

// bodies returns the bodies of a whole snapshot of one and of a snapshot of two that
// follows it.
func bodies(t testing.TB, one, two *farm.Config) (whole, follows []byte) {
	var w snapshot.Writer
	body := func(generation, base uint64, cfg *farm.Config) []byte {
		f, err := w.Publish(generation, cfg, base)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		m, err := shm.MapSealed(f)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		return bytes.Clone(m.Bytes()[snapshot.HeaderSize:])
	}
	return body(1, 0, one), body(2, 1, two)
}

// Runs that contain no records, or differ from the written ones, are refused.
func TestInvalidRunsAreRefused(t *testing.T) {
	one := &farm.Config{Farms: []farm.Farm{names(1, 2000)}}
	two := &farm.Config{Farms: []farm.Farm{one.Farms[0].Clone()}}
	two.Farms[0].Global.Zones[0].Records[1999].Name = "other"
	whole, follows := bodies(t, one, two)
	for name, wrong := range map[string][]byte{
		"whole":   bytes.Replace(whole, []byte("\x01A\x05h1999"), []byte("\x01A\xff\xffh199"), 1),
		"follows": bytes.Replace(follows, []byte("\x05other"), []byte("\x05ether"), 1),
		"cut":     bytes.Replace(follows, []byte("\x05other"), []byte("\xff\xffthe"), 1),
	} {
		var r snapshot.Reader
		if _, _, err := r.Decode(snapshot.Frame(1, whole)); err != nil {
			t.Fatal(err)
		}
		b := snapshot.FrameFollowing(2, wrong)
		if name == "whole" {
			b = snapshot.Frame(2, wrong)
		}
		if bytes.Equal(wrong, whole) || bytes.Equal(wrong, follows) {
			t.Fatalf("%s: the part was not found", name)
		}
		if _, _, err := r.Decode(b); !errors.Is(err, snapshot.ErrBody) && !errors.Is(err, snapshot.ErrChecksum) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, cfg, err := r.Decode(snapshot.FrameFollowing(2, follows)); err != nil || !reflect.DeepEqual(unpacked(cfg), two) {
			t.Errorf("%s: an encoded configuration is refused: %v", name, err)
		}
	}
}

// A run that no zone uses is refused, because its memory would be unaccounted for.
func TestUnreferencedRunIsRefused(t *testing.T) {
	one := &farm.Config{Farms: []farm.Farm{names(1, 2000)}}
	two := &farm.Config{Farms: []farm.Farm{one.Farms[0].Clone()}}
	two.Farms[0].Global.Zones[0].Records[1999].Name = "other"
	whole, follows := bodies(t, one, two)
	var body map[uint64]any
	if err := cbor.Unmarshal(follows, &body); err != nil {
		t.Fatal(err)
	}
	part := body[partsKey].([]any)[0].(map[any]any)
	first := farm.AppendPacked(nil, one.Farms[0].Global.Zones[0].Records[:1])
	part[uint64(runsKey)] = append(part[uint64(runsKey)].([]any), first)
	more, err := cbor.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var r snapshot.Reader
	if _, _, err := r.Decode(snapshot.Frame(1, whole)); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Decode(snapshot.FrameFollowing(2, more))
	if !errors.Is(err, snapshot.ErrBody) || !strings.Contains(err.Error(), "1 runs of records are in no zone") {
		t.Errorf("got %v", err)
	}
}

// The keys of the fields in a body that follows (following.go).
const (
	partsKey = 3
	runsKey  = 4
)

// FuzzPackedFollowing uses its input as the body of a snapshot whose base has a large
// zone.
func FuzzPackedFollowing(f *testing.F) {
	base := &farm.Config{Farms: []farm.Farm{names(1, 130), names(2, 3)}}
	for i := range 3 {
		next := &farm.Config{Farms: []farm.Farm{base.Farms[0].Clone(), base.Farms[1]}}
		z := &next.Farms[0].Global.Zones[0]
		switch i {
		case 0:
			z.Serial++
		case 1:
			z.Records = append(z.Records, z.Records...)
		case 2:
			next.Farms[1] = names(3, 200, 200)
		}
		_, follows := bodies(f, base, next)
		f.Add(follows)
	}
	first := encoded(f, 1, base)
	f.Fuzz(func(t *testing.T, content []byte) {
		var r snapshot.Reader
		if _, _, err := r.Decode(first); err != nil {
			t.Fatal(err)
		}
		_, cfg, err := r.Decode(snapshot.FrameFollowing(2, content))
		for _, known := range []error{snapshot.ErrBody, snapshot.ErrBase, snapshot.ErrChecksum} {
			if errors.Is(err, known) {
				return
			}
		}
		if err != nil {
			t.Fatalf("unknown error %v", err)
		}
		_, again, err := snapshot.Decode(encoded(t, 2, cfg))
		if err != nil || !reflect.DeepEqual(again, cfg) {
			t.Fatalf("it is not %+v: %v", cfg, err)
		}
	})
}
