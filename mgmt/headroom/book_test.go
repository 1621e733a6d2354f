package headroom_test

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/headroom"
)

var begin = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// engine holds counters set by a test. asked counts the sums of times.
type engine struct {
	backends map[uint32]stats.Backend
	times    map[uint32]stats.Times
	asked    int
}

func newEngine() *engine {
	return &engine{backends: map[uint32]stats.Backend{}, times: map[uint32]stats.Times{}}
}

func (e *engine) SumBackend(id uint32) stats.Backend { return e.backends[id] }
func (e *engine) SumBackendTimes(id uint32) stats.Times {
	e.asked++
	return e.times[id]
}

// answer adds n requests of the duration took.
func (e *engine) answer(id uint32, n int, took time.Duration) {
	b, t := e.backends[id], e.times[id]
	b.Requests += uint64(n)
	for range n {
		t.FirstByte.Observe(int64(took))
		t.Total.Observe(int64(took))
	}
	e.backends[id], e.times[id] = b, t
}

func shop(backends int) *farm.Config {
	s := farm.Service{ID: 1, Name: "web"}
	for i := range backends {
		s.Backends = append(s.Backends, farm.Backend{ID: uint32(i + 1), Host: netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String(), Port: 80})
	}
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: &farm.HTTP{Services: []farm.Service{s}}}}}
}

// learn simulates rounds of one backend at rising loads from a time on.
func learn(b *headroom.Book, cfg *farm.Config, e *engine, at time.Time) time.Time {
	for load := 1; load <= 32; load *= 2 {
		for range 20 {
			took := 10 * time.Millisecond * time.Duration(max(1, load/8))
			e.answer(1, int(5*time.Second*time.Duration(load)/took), took)
			at = at.Add(5 * time.Second)
			b.Observe(cfg, e, at)
		}
	}
	return at
}

func knownOf(b *headroom.Book, cfg *farm.Config, now time.Time) headroom.Known {
	f := &cfg.Farms[0]
	return b.Of(f, &f.HTTP.Services[0].Backends[0], now)
}

func TestKnowledgeBelongsToTheBackend(t *testing.T) {
	b, cfg, e := headroom.New(), shop(2), newEngine()
	if k := knownOf(b, cfg, begin); k.State != headroom.Unknown || k.Limit() != 0 || !k.Since.IsZero() {
		t.Errorf("before: %+v", k)
	}
	b.Observe(cfg, e, begin.Add(-5*time.Second))
	if k := knownOf(b, cfg, begin); k.Counted {
		t.Errorf("counted once: %+v", k)
	}
	e.answer(1, 500, 10*time.Millisecond)
	b.Observe(cfg, e, begin)
	if k := knownOf(b, cfg, begin); !k.Counted || k.Rate != 100 || k.Load != 1 { // the average starts at the first value
		t.Errorf("counted twice: %+v", k)
	}
	now := learn(b, cfg, e, begin)
	k := knownOf(b, cfg, now)
	if k.State != headroom.Bent || k.Bend < 7 || k.Bend > 9 || k.Peak < 31 || k.Load < 20 || k.PeakRate < 700 {
		t.Fatalf("%+v", k)
	}
	if able := k.Able(); able < 700 || able > 900 {
		t.Errorf("it is able to do %g a second", able)
	}
	cfg.Farms[0].Name, cfg.Farms[0].HTTP.Services[0].Name = "store", "www" // renamed
	b.Observe(cfg, e, now.Add(5*time.Second))
	if k := knownOf(b, cfg, now); k.State != headroom.Bent {
		t.Errorf("renamed: %+v", k)
	}
	for name, change := range map[string]func(*farm.Backend){
		"address": func(b *farm.Backend) { b.Host = "10.9.9.9" }, "port": func(b *farm.Backend) { b.Port = 81 }, "high port": func(b *farm.Backend) { b.Port = 80 + 256 },
		"address of a name": func(b *farm.Backend) { b.Of, b.Addr = 7, netip.MustParseAddr("10.9.9.9") },
	} {
		other := shop(2)
		change(&other.Farms[0].HTTP.Services[0].Backends[0])
		if k := knownOf(b, other, now); k.State != headroom.Unknown {
			t.Errorf("another %s: %+v", name, k)
		}
	}
	other := shop(2)
	other.Farms[0].ID = 1 + 256
	if k := knownOf(b, other, now); k.State != headroom.Unknown {
		t.Errorf("a very different farm: %+v", k)
	}
	other.Farms[0].ID = 2 // the ID is reused
	b.Observe(other, e, now.Add(10*time.Second))
	if k := knownOf(b, other, now); k.State != headroom.Unknown {
		t.Errorf("another farm: %+v", k)
	}
}

// A removed backend is remembered for a day, so that an undo costs nothing.
func TestRemovedBackendIsForgottenAfterADay(t *testing.T) {
	b, cfg, e := headroom.New(), shop(1), newEngine()
	now := learn(b, cfg, e, begin)
	none := &farm.Config{}
	b.Observe(none, e, now.Add(23*time.Hour))
	if k := knownOf(b, cfg, now); k.State != headroom.Bent {
		t.Errorf("after 23 h: %+v", k)
	}
	b.Observe(none, e, now.Add(25*time.Hour))
	if k := knownOf(b, cfg, now); k.State != headroom.Unknown {
		t.Errorf("after 25 h: %+v", k)
	}
}

func TestIdleBackendIsNotQueried(t *testing.T) {
	b, cfg, e := headroom.New(), shop(3), newEngine()
	now := learn(b, cfg, e, begin)
	for range 100 { // until the windows are empty
		now = now.Add(5 * time.Second)
		b.Observe(cfg, e, now)
	}
	before := e.asked
	for range 10 {
		now = now.Add(5 * time.Second)
		b.Observe(cfg, e, now)
	}
	if e.asked != before {
		t.Errorf("times were summed %d times", e.asked-before)
	}
	if k := knownOf(b, cfg, now); k.Load > 0.1 || k.Rate > 0.1 || k.Peak < 31 {
		t.Errorf("%+v", k)
	}
	e.answer(1, 1000, 10*time.Millisecond)
	b.Observe(cfg, e, now.Add(5*time.Second))
	if k := knownOf(b, cfg, now.Add(5*time.Second)); k.Load < 0.2 {
		t.Errorf("it works again: %+v", k)
	}
}

// Farms with unknown backend latency are skipped.
func TestRelayedConnectionsAreNotMeasured(t *testing.T) {
	b, e := headroom.New(), newEngine()
	cfg := &farm.Config{Farms: []farm.Farm{
		{ID: 1, Profile: farm.ProfileL4, L4: &farm.L4{Backends: []farm.Backend{{ID: 1, Host: "10.0.0.1"}}}},
		{ID: 2, Profile: farm.ProfileGSLB, Global: &farm.GSLB{Services: []farm.DNSService{{Name: "s", Backends: []farm.Backend{{ID: 1, Host: "10.0.0.1"}}}}}},
	}}
	e.answer(1, 100, time.Second)
	b.Observe(cfg, e, begin)
	if headroom.Measurable(&cfg.Farms[0]) || headroom.Measurable(&cfg.Farms[1]) || e.asked != 0 {
		t.Error("measured")
	}
}

// BenchmarkObserve measures a round of 10,000 busy backends at random loads, and the
// memory of a backend after some thousand samples.
func BenchmarkObserve(b *testing.B) {
	const backends, rounds = 10_000, 300
	cfg, e, r := shop(backends), newEngine(), rand.New(rand.NewPCG(1, 2))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	book, now := headroom.New(), begin
	round := func() {
		now = now.Add(5 * time.Second)
		book.Observe(cfg, e, now)
	}
	change := func() {
		for id := range uint32(backends) {
			t := e.times[id+1]
			load := 0.5 + 30*r.Float64()
			took := 10e6 * max(1, load/8) * (0.7 + 0.6*r.Float64())
			n := uint64(load * 5e9 / took)
			i := 8 + int(took/30e6)
			t.FirstByte.Counts[i] += n
			t.FirstByte.Nanos += n * uint64(took)
			t.Total.Nanos += n * uint64(took)
			e.times[id+1] = t
			sum := e.backends[id+1]
			sum.Requests += n
			e.backends[id+1] = sum
		}
	}
	for range rounds {
		change()
		round()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	data, _ := book.Encode()
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		change()
		b.StartTimer()
		round()
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/backends, "B/backend")
	b.ReportMetric(float64(len(data))/backends, "file-B/backend")
}
