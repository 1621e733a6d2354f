package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// pair is a writer and a reader of its snapshots.
type pair struct {
	writer     snapshot.Writer
	reader     snapshot.Reader
	generation uint64
	read       uint64 // the last generation of the reader, 0 for none
}

// publish publishes cfg and returns the configuration that the reader loads.
func (p *pair) publish(cfg *farm.Config) (back *farm.Config, size int64, err error) {
	p.generation++
	f, err := p.writer.Publish(p.generation, cfg, p.read)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	generation, back, err := p.reader.Load(f)
	if err == nil && generation != p.generation {
		err = fmt.Errorf("generation %d, want %d", generation, p.generation)
	}
	p.read = 0
	if err == nil {
		p.read = p.generation
	}
	return back, info.Size(), err
}

// changed draws a changed configuration. Unchanged farms are shared.
func changed(t *rapid.T, cfg *farm.Config, fresh *uint32) *farm.Config {
	next := &farm.Config{Farms: slices.Clone(cfg.Farms), Certificates: cfg.Certificates, Challenges: cfg.Challenges, Authorities: cfg.Authorities}
	position := func(name string) int { return rapid.IntRange(0, len(next.Farms)-1).Draw(t, name) }
	change := func(edit func(f *farm.Farm)) {
		i := position("changed")
		next.Farms[i] = next.Farms[i].Clone()
		edit(&next.Farms[i])
	}
	kind := rapid.SampledFrom([]string{"create", "backend", "delete", "name", "swap", "certificate", "challenge", "copy", "stop", "twice"}).Draw(t, "kind")
	if len(next.Farms) == 0 {
		kind = "create"
	}
	switch kind {
	case "create":
		*fresh++
		next.Farms = slices.Insert(next.Farms, rapid.IntRange(0, len(next.Farms)).Draw(t, "at"), farmsWithIDs(*fresh).Farms...)
	case "backend":
		change(func(f *farm.Farm) {
			f.HTTP.Services[0].Backends[0].Weight = uint8(rapid.IntRange(1, 9).Draw(t, "weight"))
		})
	case "delete":
		i := position("gone")
		next.Farms = slices.Delete(next.Farms, i, i+1)
	case "name":
		change(func(f *farm.Farm) { f.Name = rapid.StringMatching(`[a-z]{3}`).Draw(t, "name") })
	case "swap":
		a, b := position("one"), position("other")
		next.Farms[a], next.Farms[b] = next.Farms[b], next.Farms[a]
	case "certificate":
		next.Certificates = []farm.Certificate{{Name: "shop", Key: rapid.SliceOfN(rapid.Byte(), 1, 3).Draw(t, "key")}}
	case "challenge":
		next.Challenges = orNil(make([]farm.Challenge, rapid.IntRange(0, 2).Draw(t, "challenges")))
	case "copy": // equal, but in other memory
		change(func(*farm.Farm) {})
	case "stop":
		i := position("stopped")
		next.Farms[i].Stopped = !next.Farms[i].Stopped
	case "twice": // must be refused
		next.Farms = append(next.Farms, next.Farms[position("doubled")])
	}
	return next
}

// After any change, the reader has the written configuration, equal to that of a whole
// snapshot. Unchanged farms keep their memory.
func TestIncrementalSnapshotEqualsWholeSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p pair
		fresh := uint32(5)
		cfg := farmsWithIDs(1, 2, 3, 4, 5)
		before, _, err := p.publish(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			next := changed(t, cfg, &fresh)
			back, _, err := p.publish(next)
			if want := snapshot.Check(next); want != nil {
				if !errors.Is(err, snapshot.ErrConfig) || !errors.Is(want, snapshot.ErrConfig) {
					t.Fatalf("%v, want %v", err, want)
				}
				continue
			}
			if err != nil || !reflect.DeepEqual(back, next) {
				t.Fatalf("%v: decoded as %+v, want %+v", err, back, next)
			}
			whole, err := snapshot.Encode(1, next)
			if err != nil {
				t.Fatal(err)
			}
			_, anew, err := snapshot.Decode(whole)
			if err != nil || !reflect.DeepEqual(back, anew) {
				t.Fatalf("%v: the whole is %+v, want %+v", err, anew, back)
			}
			was := map[uint32]int{}
			for i := range before.Farms {
				was[before.Farms[i].ID] = i
			}
			for i := range next.Farms {
				k, is := was[next.Farms[i].ID]
				if is && reflect.DeepEqual(before.Farms[k], back.Farms[i]) && !before.Farms[k].Same(&back.Farms[i]) {
					t.Fatalf("farm %d stayed, and lies elsewhere", next.Farms[i].ID)
				}
			}
			cfg, before = next, back
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 { // a new engine
				p.reader, p.read = snapshot.Reader{}, 0
				if before, _, err = p.publish(cfg); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestIncrementalSnapshotHasOnlyChanges(t *testing.T) {
	var p pair
	cfg := &farm.Config{Farms: slices.Concat(farmsWithIDs(1, 2, 3).Farms, farmsWithIDs(10, 11, 12, 13, 14, 15).Farms)}
	_, whole, err := p.publish(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg = &farm.Config{Farms: slices.Clone(cfg.Farms)}
	cfg.Farms[4] = cfg.Farms[4].Clone()
	cfg.Farms[4].Name = "other"
	if _, size, err := p.publish(cfg); err != nil || size > whole/3 {
		t.Errorf("one of nine farms takes %d bytes, all take %d: %v", size, whole, err)
	}
	p.read = 0 // a new engine
	p.reader = snapshot.Reader{}
	if _, size, err := p.publish(cfg); err != nil || size < whole*9/10 {
		t.Errorf("the whole takes %d bytes, took %d: %v", size, whole, err)
	}
}

// A reader refuses a snapshot with another base and accepts the next whole one.
func TestIncrementalSnapshotNeedsItsBase(t *testing.T) {
	var w snapshot.Writer
	publish := func(cfg *farm.Config, generation, base uint64) *os.File {
		t.Helper()
		f, err := w.Publish(generation, cfg, base)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	one, two := publish(farmsWithIDs(1), 1, 0), publish(farmsWithIDs(1, 2), 2, 1)
	var fresh, r snapshot.Reader
	if _, _, err := fresh.Load(two); !errors.Is(err, snapshot.ErrBase) {
		t.Errorf("a new reader: %v", err)
	}
	if _, _, err := r.Load(one); err != nil {
		t.Fatal(err)
	}
	if _, cfg, err := r.Load(two); err != nil || len(cfg.Farms) != 2 {
		t.Errorf("%+v, %v", cfg, err)
	}
	if _, _, err := r.Load(two); !errors.Is(err, snapshot.ErrBase) {
		t.Errorf("once more: %v", err)
	}
	if _, cfg, err := r.Load(publish(farmsWithIDs(3), 3, 0)); err != nil || cfg.Farms[0].ID != 3 {
		t.Errorf("the whole: %+v, %v", cfg, err)
	}
}

// FuzzFollowing uses its input as the body of a snapshot that follows another one.
func FuzzFollowing(f *testing.F) {
	base := farmsWithIDs(1, 2, 3)
	for _, farms := range [][]farm.Farm{base.Farms[:1], farmsWithIDs(4).Farms, slices.Concat(farmsWithIDs(7).Farms, base.Farms[2:], base.Farms[:1])} {
		var w snapshot.Writer
		first, err := w.Publish(1, base, 0)
		if err != nil {
			f.Fatal(err)
		}
		_ = first.Close()
		second, err := w.Publish(2, &farm.Config{Farms: farms, Certificates: []farm.Certificate{{Name: "a"}}}, 1)
		if err != nil {
			f.Fatal(err)
		}
		m, err := shm.MapSealed(second)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(m.Bytes()[snapshot.HeaderSize:]))
		_ = m.Close()
		_ = second.Close()
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var r snapshot.Reader
		if _, _, err := r.Decode(encoded(t, 1, base)); err != nil {
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
		if err != nil || len(again.Farms) != len(cfg.Farms) {
			t.Fatalf("it is not %+v: %v", cfg, err)
		}
	})
}
