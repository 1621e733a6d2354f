package balance_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/health"
)

// shares counts n picks, each released at once.
func shares(p *balance.Picker, members, n int) []int {
	out := make([]int, members)
	for k := range n {
		if i, ok := p.Pick(uint64(k)*0x9e3779b97f4a7c15, balance.Tried{}); ok {
			p.Held(i).Done()
			out[i]++
		}
	}
	return out
}

// ramping returns a picker whose members of these weights came up that long ago.
func ramping(f *fixture, a balance.Algorithm, slow time.Duration, ago ...time.Duration) *balance.Picker {
	for i := range f.members {
		f.members[i].SlowStart = slow
		f.members[i].Load.CameUp(ago[i])
	}
	return f.picker(a)
}

// Over whole cycles each member gets its weight times its tenths.
func TestSharesFollowTheRamp(t *testing.T) {
	const slow = 1000 * time.Hour // long, so that nothing changes during the test
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "members")
		f := newFixture(t, make([]balance.Member, n)...)
		ago, want, total := make([]time.Duration, n), make([]int, n), 0
		for i := range n {
			f.members[i].Weight = rapid.IntRange(1, 9).Draw(t, "weight")
			tenth := rapid.IntRange(1, 10).Draw(t, "tenths")
			ago[i] = slow*time.Duration(tenth-1)/9 + time.Minute
			want[i] = f.members[i].Weight * tenth
			total += want[i]
		}
		a := rapid.SampledFrom([]balance.Algorithm{balance.RoundRobin, balance.LeastConnections, balance.PendingConnections}).Draw(t, "algorithm")
		got := shares(ramping(f, a, slow, ago...), n, 3*total)
		for i := range got {
			if got[i] != 3*want[i] {
				t.Fatalf("%v: shares %v of %d, want %v", a, got, 3*total, want)
			}
		}
	})
}

func TestTheLeastLoadedIsFoundByTheWeightOfTheMoment(t *testing.T) {
	const slow = 1000 * time.Hour
	for _, a := range []balance.Algorithm{balance.LeastConnections, balance.RandomOfTwo} {
		f := newFixture(t, balance.Member{}, balance.Member{})
		p := ramping(f, a, slow, 0, slow)
		for range 220 { // none is released
			if _, ok := p.Pick(0, balance.Tried{}); !ok {
				t.Fatal("none picked")
			}
		}
		if young := f.members[0].Load.Active.Load(); young < 15 || young > 25 {
			t.Errorf("%v: one with a tenth of its weight has %d of 220, want 20", a, young)
		}
	}
}

func TestOnlyRecoveredMembersRampUp(t *testing.T) {
	const slow = 1000 * time.Hour
	f := newFixture(t, balance.Member{SlowStart: slow}, balance.Member{SlowStart: slow})
	even := func(what string, p *balance.Picker, yes bool) {
		t.Helper()
		if got := shares(p, 2, 110); (got[0] == got[1]) != yes || !yes && got[1] != 10 {
			t.Errorf("%s: shares %v", what, got)
		}
	}
	f.members[0].Load.MarkOld()
	f.members[1].Load.MarkOld()
	p := f.picker(balance.RoundRobin)
	even("at first", p, true)
	f.set(1, health.Down)
	p.Pick(0, balance.Tried{})
	f.set(1, health.Up)
	even("back up", p, false)
	since := f.members[1].Load.Since()
	even("after a reload", f.picker(balance.RoundRobin), false)
	if f.members[1].Load.Since() != since {
		t.Error("a reload restarts the ramp")
	}
	f.members[1].Load.CameUp(slow)
	even("after its time", f.picker(balance.RoundRobin), true)
	f.members[1].Out = true
	f.picker(balance.RoundRobin)
	f.members[1].Out = false
	even("out of maintenance", f.picker(balance.RoundRobin), false)
	f.members[1].Load = new(balance.Load)
	even("new", f.picker(balance.RoundRobin), false)
	f.members[1].SlowStart = 0
	even("without a slow start", f.picker(balance.RoundRobin), true)
}

// A backend that was down while no request came ramps up from its recovery, regardless of
// whether traffic, a check or an ejection found it down.
func TestUnnoticedRecoveryRampsUp(t *testing.T) {
	const slow = 1000 * time.Hour
	down := map[string]func(f *fixture){
		"passive": func(f *fixture) {
			f.health.SetPassive(f.members[1].ID, health.Down, time.Now())
			f.health.SetPassive(f.members[1].ID, health.Up, time.Now())
		},
		"guardian": func(f *fixture) {
			f.health.SetGuardian(f.members[1].ID, health.Down, time.Now())
			f.health.SetGuardian(f.members[1].ID, health.Up, time.Now())
		},
		"ejection": func(f *fixture) {
			f.health.Eject(f.members[1].ID, health.CauseReset, time.Now(), time.Second)
			f.health.Readmit(f.members[1].ID, time.Now())
		},
	}
	for name, cut := range down {
		f := newFixture(t, balance.Member{SlowStart: slow}, balance.Member{SlowStart: slow})
		f.members[0].Load.MarkOld()
		f.members[1].Load.MarkOld()
		p := f.picker(balance.RoundRobin)
		f.health.SetGuardian(f.members[1].ID, health.Up, time.Now()) // first verdict
		f.health.SetPassive(f.members[1].ID, health.Up, time.Now())  // first connect
		f.health.SetPassive(f.members[0].ID, health.Up, time.Now())
		f.set(0, health.Down) // causes a refresh
		p.Pick(0, balance.Tried{})
		f.set(0, health.Up)
		p.Pick(0, balance.Tried{})
		f.members[0].Load.CameUp(slow)
		p = f.picker(balance.RoundRobin)
		if got := shares(p, 2, 110); got[0] != got[1] {
			t.Errorf("%s: a first verdict has it ramp up: shares %v", name, got)
		}
		cut(f)
		if got := shares(p, 2, 110); got[1] != 10 {
			t.Errorf("%s: shares %v", name, got)
		}
		if got := shares(f.picker(balance.RoundRobin), 2, 110); got[1] != 10 {
			t.Errorf("%s: shares after a reload %v", name, got)
		}
	}
}

// The first verdict of a check and the first connect to an existing backend do not start a
// ramp.
func TestFirstNewsOfABackendBeginsNoRamp(t *testing.T) {
	const slow = 1000 * time.Hour
	for name, first := range map[string]func(f *fixture){
		"connect": func(f *fixture) { f.health.SetPassive(f.members[1].ID, health.Up, time.Now()) },
		"verdict": func(f *fixture) { f.health.SetGuardian(f.members[1].ID, health.Up, time.Now()) },
	} {
		f := newFixture(t, balance.Member{SlowStart: slow}, balance.Member{SlowStart: slow})
		f.members[0].Load.MarkOld()
		f.members[1].Load.MarkOld()
		f.picker(balance.RoundRobin).Pick(0, balance.Tried{})
		first(f)
		if got := shares(f.picker(balance.RoundRobin), 2, 110); got[0] != got[1] {
			t.Errorf("%s: shares %v", name, got)
		}
	}
}

// A recovery long before the engine started does not start a ramp.
func TestOldRecoveryStartsNoRamp(t *testing.T) {
	f := newFixture(t, balance.Member{SlowStart: time.Minute}, balance.Member{SlowStart: time.Minute})
	f.health.SetPassive(f.members[1].ID, health.Down, time.Now().Add(-2*time.Hour))
	f.health.SetPassive(f.members[1].ID, health.Up, time.Now().Add(-time.Hour))
	f.members[0].Load.MarkOld()
	f.members[1].Load.MarkOld()
	if got := shares(f.picker(balance.RoundRobin), 2, 110); got[0] != got[1] {
		t.Errorf("shares %v", got)
	}
}

func TestConsistentHashIgnoresTheRamp(t *testing.T) {
	f := newFixture(t, balance.Member{}, balance.Member{}, balance.Member{})
	before := shares(f.picker(balance.ConsistentHash), 3, 3000)
	after := shares(ramping(f, balance.ConsistentHash, time.Hour, 0, time.Hour, time.Hour), 3, 3000)
	if before[0] != after[0] || before[1] != after[1] {
		t.Errorf("shares were %v, are %v", before, after)
	}
}

func TestTheRampEnds(t *testing.T) {
	f := newFixture(t, balance.Member{}, balance.Member{})
	p := ramping(f, balance.RoundRobin, time.Second, 0, time.Second)
	if got := shares(p, 2, 110); got[0] != 10 {
		t.Errorf("at first %v", got)
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got := shares(p, 2, 110); got[0] == got[1] {
			return
		}
	}
	t.Error("never the whole weight")
}
