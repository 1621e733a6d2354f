//go:build !race

// The simulation is sequential, and takes minutes with the race detector.

package headroom

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const mean = 0.25 // seconds per request in these tests

// learned returns a backend after a day of a server whose load rises to a share.
func learned(seed uint64, slots int, high float64, service func(*rand.Rand) float64) *backend {
	s, b := newServer(seed, slots, service), &backend{from: loadBins}
	s.day(b, 0.01, high, float64(slots)/mean)
	return b
}

// near is the maximum factor between the learned bend and the number of slots.
const near = 1.35

func wantBend(t *testing.T, e Estimate, slots float64) {
	t.Helper()
	if e.State != Bent || e.Bend < slots/near || e.Bend > slots*near {
		t.Errorf("%g slots: %+v", slots, e)
	}
}

func TestTheBendIsWhereASimulatedServerHasNoSlotsLeft(t *testing.T) {
	for slots, services := range map[int][]func(*rand.Rand) float64{
		1: {exponential(mean), lognormal(mean, 0.1), lognormal(mean, 3)},
		2: {exponential(mean)},
		4: {lognormal(mean, 0.1), lognormal(mean, 3)},
		8: {exponential(mean), lognormal(mean, 2)},
	} {
		for i, service := range services {
			b := learned(uint64(slots+i), slots, 0.95, service)
			e := b.curve.estimate()
			wantBend(t, e, float64(slots))
			if base := e.Base.Seconds(); base < mean/1.3 || base > mean*1.3 {
				t.Errorf("%d slots, service %d: base %v", slots, i, e.Base)
			}
			if len(b.curve.cells) > maxCells {
				t.Errorf("%d cells", len(b.curve.cells))
			}
		}
	}
}

func TestUnderloadedBackendHasNoBend(t *testing.T) {
	for _, service := range []func(*rand.Rand) float64{exponential(mean), lognormal(mean, 0.1), lognormal(mean, 3)} {
		e := learned(3, 16, 0.5, service).curve.estimate()
		if e.State != Unbent || e.Bend != 0 || e.Carried < 5 || e.Carried > 16 || e.Highest < e.Carried/near {
			t.Errorf("%+v", e)
		}
	}
}

// curveOf returns a curve with several samples at each point.
func curveOf(samples int, at ...Sample) *curve {
	var c curve
	for _, s := range at {
		s.Time = begin
		for range samples {
			c.add(s)
		}
	}
	return &c
}

func at(load float64, ms float64) Sample {
	return Sample{Concurrency: load, Latency: time.Duration(ms * float64(time.Millisecond))}
}

func TestBendNeedsEnoughEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		samples int
		at      []Sample
		state   State
		bend    float64
		atMost  bool
		slowed  bool
	}{
		"flat, then a line":               {30, []Sample{at(1, 20), at(4, 20), at(8, 20), at(16, 40), at(32, 80)}, Bent, 8, false, false},
		"too few samples":                 {known - 1, []Sample{at(1, 20), at(8, 20), at(16, 40), at(32, 80)}, Unknown, 0, false, false},
		"just enough":                     {known, []Sample{at(1, 20), at(8, 20), at(16, 40), at(32, 80)}, Bent, 8, false, false},
		"too few with high latency":       {bentSamples - 1, []Sample{at(1, 20), at(8, 20), at(16, 40)}, Unbent, 0, false, false},
		"a little slower":                 {30, []Sample{at(1, 20), at(8, 21), at(16, 27)}, Unbent, 0, false, false},
		"not at every higher load":        {30, []Sample{at(1, 20), at(8, 40), at(16, 21)}, Unbent, 0, false, false},
		"less is done than could be":      {30, []Sample{at(1, 20), at(8, 20), at(16, 60)}, Unbent, 0, false, true},
		"nearly as much":                  {30, []Sample{at(1, 20), at(8, 20), at(16, 46)}, Bent, 8, false, false},
		"never with less load":            {30, []Sample{at(8, 20), at(16, 40), at(32, 80)}, Bent, 8, true, false},
		"slow things by night, alone":     {30, []Sample{at(0.3, 200), at(4, 20), at(8, 20), at(16, 40)}, Bent, 8, false, false},
		"throughput falls beyond":         {30, []Sample{at(1, 20), at(8, 20), at(12, 31), at(64, 640)}, Bent, 8, false, false},
		"alone, whatever a quarter is of": {30, []Sample{at(0.01, 20), at(0.1, 20)}, Unbent, 0, false, false},
	} {
		e := curveOf(c.samples, c.at...).estimate()
		if e.State != c.state || e.Bend < c.bend/1.1 || e.Bend > c.bend*1.1 || e.AtMost != c.atMost || e.Slowed != c.slowed {
			t.Errorf("%s: %+v", name, e)
		}
		if ms := float64(e.Base) / 1e6; e.State != Unknown && (ms < 18.5 || ms > 21.5) {
			t.Errorf("%s: base %v", name, e.Base)
		}
		if e.State == Unbent && (e.Limit() != e.Carried || e.Carried <= 0) || e.State == Bent && e.Limit() != e.Bend {
			t.Errorf("%s: limit %g of %+v", name, e.Limit(), e)
		}
	}
}

// Idle nights and restarted counters do not change the learned state.
func TestIdleTimeTeachesNothing(t *testing.T) {
	s, b := newServer(5, 4, exponential(mean)), &backend{from: loadBins}
	s.day(b, 0.01, 0.95, 4/mean)
	before := b.curve.estimate()
	for range 12 * 720 {
		b.observe(s.run(0))
	}
	s.backend, s.times = newServer(5, 4, nil).backend, newServer(5, 4, nil).times
	b.observe(s.run(10)) // a restarted engine counts from zero
	if e := b.curve.estimate(); e.State != before.State || math.Abs(e.Bend-before.Bend) > 0.2*before.Bend {
		t.Errorf("%+v became %+v", before, e)
	}
	if b.anew {
		t.Error("learning restarted")
	}
	if b.load.value > 1 {
		t.Errorf("after a night %g requests are under way", b.load.value)
	}
}

// High latency independent of load is no bend.
func TestDisturbancesAreNotABend(t *testing.T) {
	slow := 1.0
	s := newServer(9, 32, func(r *rand.Rand) float64 { return slow * mean * r.ExpFloat64() })
	b := &backend{from: loadBins}
	for i := range 24 * 720 {
		slow = 1
		if i%360 < 15 && i/720%24 < 9 { // at night, part of every half hour
			slow = 8
		}
		share := 0.03 + 0.2*(1-math.Cos(2*math.Pi*float64(i)/(24*720)))
		b.observe(s.run(share * 32 / mean))
	}
	if e := b.curve.estimate(); e.State != Unbent || e.Base.Seconds() > 1.3*mean {
		t.Errorf("%+v", e)
	}
}

func TestChangedMachineIsLearnedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		slots int
		mean  float64
	}{"faster": {8, mean / 3}, "slower": {2, mean * 3}} {
		s, b := newServer(4, 4, exponential(mean)), &backend{from: loadBins}
		for range 3 {
			s.day(b, 0.01, 0.95, 4/mean)
		}
		next := newServer(6, c.slots, exponential(c.mean))
		next.now, next.backend, next.times = s.now, s.backend, s.times
		for range 3 {
			next.day(b, 0.01, 0.95, float64(c.slots)/c.mean)
		}
		e := b.curve.estimate()
		wantBend(t, e, float64(c.slots))
		if !b.anew || e.Base.Seconds() > c.mean*1.3 || e.Base.Seconds() < c.mean/1.3 {
			t.Errorf("%s: %+v, restarted %v", name, e, b.anew)
		}
	}
}

// A slow job of two hours each night does not restart learning.
func TestSlowNightsAreNotAnotherMachine(t *testing.T) {
	slow := 1.0
	s := newServer(2, 8, func(r *rand.Rand) float64 { return slow * mean * r.ExpFloat64() })
	b := &backend{from: loadBins}
	for i := range 4 * 24 * 720 {
		if slow = 1; i/720%24 < 2 {
			slow = 2.5
		}
		share := 0.03 + 0.46*(1-math.Cos(2*math.Pi*float64(i)/(24*720)))
		b.observe(s.run(share * 8 / mean))
	}
	if b.anew {
		t.Error("learning restarted")
	}
	wantBend(t, b.curve.estimate(), 8)
}

func TestOldSamplesDecay(t *testing.T) {
	b := learned(7, 2, 0.95, exponential(mean))
	weight := func() (sum float64) {
		for _, c := range b.curve.cells {
			sum += float64(c.weight)
		}
		return sum
	}
	before := weight()
	b.curve.age(b.curve.aged.Add(halfLife))
	if half := weight(); half < 0.45*before || half > 0.55*before {
		t.Errorf("%g of %g is left after its half-life", half, before)
	}
	aged := b.curve.aged
	b.curve.age(aged.Add(-time.Hour * 1000))
	if half := weight(); half < 0.45*before {
		t.Error("a clock that went back reduced the weight")
	}
	if b.curve.age(b.curve.aged.Add(40 * halfLife)); len(b.curve.cells) != 0 {
		t.Errorf("%d cells for ever", len(b.curve.cells))
	}
	if e := b.curve.estimate(); e.State != Unknown {
		t.Errorf("%+v", e)
	}
}

func TestPeakCoversOneDay(t *testing.T) {
	var b backend
	at := begin
	for h, load := range []float64{3, 9, 5} {
		b.peak(Sample{Time: at.Add(time.Duration(h) * time.Hour), Concurrency: load, Rate: 10 * load})
	}
	if p := b.highest(at.Add(2 * time.Hour)); p.load != 9 || p.rate != 90 {
		t.Errorf("%+v", p)
	}
	if p := b.highest(at.Add(25 * time.Hour)); p.load != 5 {
		t.Errorf("a day after the highest: %+v", p)
	}
	b.peak(Sample{Time: at.Add(25 * time.Hour), Concurrency: 1})
	if p := b.highest(at.Add(25 * time.Hour)); p.load != 5 {
		t.Errorf("%+v", p)
	}
}

// The number of cells is bounded, and cells are sorted.
func TestACurveIsBounded(t *testing.T) {
	var c curve
	r := rand.New(rand.NewPCG(1, 1))
	for range 50_000 {
		c.add(Sample{Time: begin, Concurrency: math.Exp(12 * r.Float64()), Latency: time.Duration(math.Exp(20 * r.Float64()))})
	}
	if len(c.cells) != maxCells {
		t.Errorf("%d cells", len(c.cells))
	}
	for i := 1; i < len(c.cells); i++ {
		if c.cells[i].at <= c.cells[i-1].at {
			t.Fatalf("cell %d is at %x, the one before at %x", i, c.cells[i].at, c.cells[i-1].at)
		}
	}
}

// The median is within the cell of the middle sample.
func TestTheMedianIsTheMiddleSample(t *testing.T) {
	for _, c := range []struct {
		weights [2]float32
		want    float64
	}{{[2]float32{2, 6}, 20 + 2.0/6}, {[2]float32{6, 2}, 10 + 4.0/6}, {[2]float32{4, 4}, 11}} {
		p := median([]cell{{at: 5<<8 | 10, weight: c.weights[0]}, {at: 5<<8 | 20, weight: c.weights[1]}})
		if p.bin != 5 || p.latency != timeAt(c.want) || p.weight != 8 {
			t.Errorf("%v: %+v, want a latency of %v", c.weights, p, timeAt(c.want))
		}
	}
}
