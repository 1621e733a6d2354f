package publish_test

import (
	"net/netip"
	"slices"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/mgmt/publish"
)

// markedConfig returns a configuration whose farms need sockets with these marks.
func markedConfig(values ...uint32) *farm.Config {
	cfg := config(a, b2, c3)
	cfg.Farms = cfg.Farms[:len(values)]
	for i, mark := range values {
		cfg.Farms[i].HTTP.Services = []farm.Service{{ID: uint32(10 + i), Name: "all", Backends: []farm.Backend{
			{ID: uint32(20 + i), Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Mark: mark}}}}
	}
	return cfg
}

func kindsMemory(t *testing.T) *marks.Published {
	t.Helper()
	memory := make([]uint64, marks.PublishedSize/8)
	p, err := marks.OpenPublished(unsafe.Slice((*byte)(unsafe.Pointer(&memory[0])), marks.PublishedSize))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lists fails unless exactly these marks are published.
func lists(t *testing.T, when string, p *marks.Published, want ...uint32) {
	t.Helper()
	kinds, _, ok := p.List()
	var got []uint32
	for _, k := range kinds {
		got = append(got, k.Mark)
	}
	if slices.Sort(got); !ok || !slices.Equal(got, want) {
		t.Errorf("%s: marks %d are published, want %d", when, got, want)
	}
}

func TestNetdHasLeaveForTheMarksOfFarmsInForce(t *testing.T) {
	p := kindsMemory(t)
	b := newBench(t, markedConfig(7), func(o *publish.Options) { o.Kinds = p })
	e := newEngine()
	e.during = func() { lists(t, "while the first is taken", p, 7) }
	b.start(t, e)
	eventually(t, func() bool { return b.page.Published() != 0 && b.State().Connected })
	during := func(want ...uint32) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.during = func() { lists(t, "while one takes over from the other", p, want...) }
	}
	during(7, 8, 9)
	if _, err := b.Publish(t.Context(), markedConfig(8, 9)); err != nil {
		t.Fatal(err)
	}
	lists(t, "in force", p, 8, 9)

	e.mu.Lock()
	e.refuse = "no good"
	e.mu.Unlock()
	during(6, 8, 9)
	if _, err := b.Publish(t.Context(), markedConfig(6)); err == nil {
		t.Fatal("published")
	}
	lists(t, "refused", p, 8, 9)

	e.mu.Lock()
	e.refuse = ""
	e.mu.Unlock()
	during(8, 9)
	stopped := markedConfig(8, 9)
	stopped.Farms[1].Stopped = true
	if _, err := b.Publish(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	lists(t, "a farm was stopped", p, 8)
	during(8)
	if _, err := b.Publish(t.Context(), markedConfig()); err != nil {
		t.Fatal(err)
	}
	lists(t, "the last farm is gone", p)
}

// The engine's configuration is unknown after a missing reply, and to a mgmt that just started.
func TestMarksStayWhileTheEngineStateIsUnknown(t *testing.T) {
	p := kindsMemory(t)
	b := newBench(t, markedConfig(7), func(o *publish.Options) { o.Kinds = p })
	e := b.start(t, newEngine())
	eventually(t, func() bool { kinds, _, _ := p.List(); return len(kinds) == 1 })
	e.mu.Lock()
	e.mute = true
	e.mu.Unlock()
	if _, err := b.Publish(t.Context(), markedConfig(8)); err == nil {
		t.Fatal("published")
	}
	lists(t, "nobody answered", p, 7, 8)

	next := newBench(t, markedConfig(9), func(o *publish.Options) { o.Kinds = p })
	other := newEngine()
	other.during = func() { lists(t, "another mgmt publishes", p, 7, 8, 9) }
	next.start(t, other)
	eventually(t, func() bool { kinds, _, _ := p.List(); return len(kinds) == 1 })
	lists(t, "it has", p, 9)
}
