package snapshot_test

import (
	"errors"
	"reflect"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/core/snapshot"
)

func TestLoadReturnsThePublishedConfiguration(t *testing.T) {
	f, err := snapshot.Publish(42, example())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 100); !errors.Is(err, syscall.EPERM) {
		t.Errorf("a published snapshot can be written to: %v", err)
	}
	generation, cfg, err := snapshot.Load(f)
	if err != nil || generation != 42 || !reflect.DeepEqual(cfg, example()) {
		t.Errorf("got generation %d, %+v, %v", generation, cfg, err)
	}
}

func TestLoadRefusesMemoryThatCanChange(t *testing.T) {
	b := encoded(t, 1, example())
	f, err := shm.Shared("snapshot", len(b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := snapshot.Load(f); !errors.Is(err, shm.ErrNotSealed) {
		t.Errorf("got %v", err)
	}
}

// An engine checks the configuration even though mgmt has.
func TestLoadChecksTheConfigurationItself(t *testing.T) {
	cfg := example()
	cfg.Farms[0].ID = 1 << 20
	f, err := shm.Sealed("snapshot", encoded(t, 1, cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, got, err := snapshot.Load(f); !errors.Is(err, snapshot.ErrConfig) || got != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func BenchmarkLoad(b *testing.B) {
	cfg := &farm.Config{}
	for id := range uint32(100) {
		f := example().Farms[0]
		f.ID = id + 1
		f.HTTP.Services[0].ID, f.HTTP.Services[1].ID = 2*id+1, 2*id+2
		f.HTTP.Services[0].Backends[0].ID, f.HTTP.Services[0].Backends[1].ID = 2*id+1, 2*id+2
		cfg.Farms = append(cfg.Farms, f)
	}
	file, err := snapshot.Publish(1, cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := snapshot.Load(file); err != nil {
			b.Fatal(err)
		}
	}
}
