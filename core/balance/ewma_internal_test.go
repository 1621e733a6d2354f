package balance

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDecayHalvesAndNeverRises(t *testing.T) {
	const ms = int64(time.Millisecond)
	if got := decay(800*ms, 3*halfLife); got != 100*ms {
		t.Errorf("three half-lives of 800 ms leave %v", time.Duration(got))
	}
	if got := decay(800*ms, halfLife/2); got < 599*ms || got > 601*ms { // linear in between
		t.Errorf("half a half-life of 800 ms leaves %v", time.Duration(got))
	}
	for half, want := range map[int64]int64{61: 1, 62: 0, 1 << 20: 0} { // more than an integer can be shifted by
		if got := decay(1<<61, half*halfLife); got != want {
			t.Errorf("%d half-lives leave %d, want %d", half, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, latencyCeil).Draw(t, "value")
		a := rapid.Int64Range(0, 100*halfLife).Draw(t, "pause")
		b := a + rapid.Int64Range(0, halfLife).Draw(t, "more")
		if x, y := decay(v, a), decay(v, b); x < y || x > v || y < 0 {
			t.Fatalf("decay(%d) is %d after %d and %d after %d", v, x, a, y, b)
		}
	})
}

func TestAverageStaysAmongItsSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e ewma
		lo, hi, now := latencyCeil, int64(0), int64(0)
		for range rapid.IntRange(1, 50).Draw(t, "samples") {
			v := rapid.Int64Range(1, 2*latencyCeil).Draw(t, "sample")
			now += rapid.Int64Range(-halfLife, 20*halfLife).Draw(t, "pause")
			e.observe(v, now)
			lo, hi = min(lo, v), max(hi, min(v, latencyCeil))
			if got := e.value.Load(); got < lo-1 || got > hi+1 {
				t.Fatalf("average %d of samples %d … %d", got, lo, hi)
			}
		}
	})
}

func TestASampleWeighsAnEighthAndMoreAfterAPause(t *testing.T) {
	for _, c := range []struct{ sample, pause, want int64 }{
		{16_000, 0, 9_000}, {16_000, -halfLife, 9_000}, {0, 0, 7_001}, {16_000, halfLife, 12_000}, {16_000, 2 * halfLife, 14_000}, {16_000, 100 * halfLife, 16_000},
	} {
		var e ewma
		e.observe(8_000, halfLife)
		e.observe(c.sample, halfLife+c.pause)
		if got := e.value.Load(); got != c.want || e.at.Load() != halfLife+c.pause {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// The sum over members cannot overflow for any counts.
func TestTheTimeToExpectGrowsWithinBounds(t *testing.T) {
	for _, c := range []struct {
		latency       time.Duration
		active, units int64
	}{
		{0, 0, 48}, {0, -7, 48}, {0, 2, 3 * 48}, {40 * time.Microsecond, 0, 48}, {1024 * time.Microsecond, 3, 4 * 1000},
		{0, 1<<20 - 1, 48 << 20}, {0, 1 << 20, 48 * (1<<20 + 1)}, {0, 1 << 60, 48 * (1<<20 + 1)},
		{10 * time.Minute, 0, 600_000_000_000 >> 10}, {11 * time.Minute, 0, 600_000_000_000 >> 10},
	} {
		var l Load
		l.Active.Store(c.active)
		if c.latency != 0 {
			l.latency.observe(int64(c.latency), halfLife)
		}
		for _, now := range []int64{halfLife, 0} {
			if got := l.expected(now); got != c.units {
				t.Errorf("%+v: got %d, want %d", c, got, c.units)
			}
		}
	}
}

// TestOnceSlowMemberIsTriedAgain follows a member that once took a second beside one that
// takes 5 ms.
func TestOnceSlowMemberIsTriedAgain(t *testing.T) {
	var slow, fast Load
	slow.latency.observe(int64(time.Second), 0)
	for s := int64(1); ; s++ {
		now := s * int64(time.Second)
		fast.latency.observe(int64(5*time.Millisecond), now)
		if slow.expected(now) < fast.expected(now) {
			if s < 30 || s > 120 {
				t.Errorf("tried again after %d s", s)
			}
			slow.latency.observe(int64(time.Second), now)
			if slow.expected(now) < 100*fast.expected(now) {
				t.Error("one slow answer does not restore the truth")
			}
			slow.latency.observe(int64(4*time.Millisecond), now+10*halfLife)
			if got := slow.latency.value.Load(); got > int64(6*time.Millisecond) {
				t.Errorf("a fast answer after a long pause still leaves %v", time.Duration(got))
			}
			return
		}
	}
}

func TestACopyOfALoadHasAllOfIt(t *testing.T) {
	var l Load
	for i, field := range []interface{ Store(int64) }{&l.Active, &l.Pending, &l.latency.value, &l.latency.at, &l.since} {
		field.Store(int64(i + 1))
	}
	l.seen.Store(seenUsable)
	if c := l.copy(); !reflect.DeepEqual(c, &l) {
		t.Errorf("%+v is not %+v", c, &l)
	}
}
