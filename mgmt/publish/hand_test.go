package publish_test

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
)

// many returns a configuration with 53 farms.
func many() *farm.Config {
	cfg := config(a, b2, c3)
	for i := range uint32(50) {
		f := cfg.Farms[0].Clone()
		f.ID, f.Name, f.VPort = i+10, f.Name+string(rune('a'+i)), uint16(9000+i)
		cfg.Farms = append(cfg.Farms, f)
	}
	return cfg
}

// renamed returns cfg with another name for its first farm.
func renamed(cfg *farm.Config, name string) *farm.Config {
	next := &farm.Config{Farms: slices.Clone(cfg.Farms)}
	next.Farms[0].Name = name
	return next
}

// The engine gets a difference if it has the previous snapshot, else the whole configuration.
func TestEngineGetsIncrementalSnapshots(t *testing.T) {
	cfg := many()
	b := newBench(t, cfg)
	e := b.start(t, newEngine())
	publish := func(name string) {
		t.Helper()
		if _, err := b.Publish(t.Context(), renamed(cfg, name)); err != nil {
			t.Fatal(err)
		}
		if lives := e.lives(); lives[len(lives)-1].Farms[0].Name != name || len(lives[len(lives)-1].Farms) != 53 {
			t.Fatalf("it has %q", lives[len(lives)-1].Farms[0].Name)
		}
	}
	wholes := func() (list []bool) {
		for _, size := range e.sizes {
			list = append(list, size > 5000)
		}
		return list
	}
	publish("one")
	publish("two")
	e.mu.Lock()
	e.reader = snapshot.Reader{} // it has lost its state
	e.mu.Unlock()
	publish("three")
	publish("four")
	if want := []bool{true, false, false, true, false}; !slices.Equal(wholes(), want) || e.whole != 1 {
		t.Errorf("snapshots of %v bytes are whole: %v, %d requests for a whole one", e.sizes, wholes(), e.whole)
	}
	e.mu.Lock()
	e.refuse = "no"
	e.mu.Unlock()
	if _, err := b.Publish(t.Context(), renamed(cfg, "five")); err == nil {
		t.Fatal("it was accepted")
	}
	e.mu.Lock()
	e.refuse = ""
	e.mu.Unlock()
	publish("six")
	if want := []bool{true, false, false, true, false, false, true}; !slices.Equal(wholes(), want) {
		t.Errorf("after a refusal: snapshots of %v bytes are whole: %v", e.sizes, wholes())
	}
}
