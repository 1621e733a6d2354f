package balance_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/health"
)

func TestOneCallerAtATimeTriesADownMember(t *testing.T) {
	f := newFixture(t, balance.Member{}, balance.Member{Limit: 1}, balance.Member{Out: true})
	p := f.picker(balance.RoundRobin)
	if i, right := p.Attempt(-1, balance.Tried{}, nil); i >= 0 || right != nil {
		t.Errorf("%d is tried although others are usable", i)
	}
	f.down(0)
	f.down(1)
	if i, right := p.Attempt(-1, balance.Tried{}.With(0).With(1), nil); i >= 0 || right != nil {
		t.Errorf("%d is tried twice", i)
	}
	first, right := p.Attempt(-1, balance.Tried{}, nil)
	if first < 0 || first == 2 || right == nil {
		t.Fatalf("%d is tried", first)
	}
	if i, other := p.Attempt(-1, balance.Tried{}, nil); i >= 0 || other != nil {
		t.Error("two try at once")
	}
	p.Held(first).Done()
	second, again := p.Attempt(-1, balance.Tried{}.With(first), right)
	if second != 1-first || again != right {
		t.Errorf("the exchange with the right continues with %d", second)
	}
	p.Held(second).Done()
	if i, kept := p.Attempt(-1, balance.Tried{}.With(0).With(1), right); i >= 0 || kept != right {
		t.Errorf("%d is tried twice by one", i)
	}
	right.Done()
	if i, _ := p.Attempt(-1, balance.Tried{}, nil); i >= 0 {
		t.Error("the next one tries at once")
	}
	time.Sleep(20 * time.Millisecond)
	if i, right := p.Attempt(1, balance.Tried{}, nil); i != 1 || right == nil {
		t.Errorf("%d is tried, not the preferred one", i)
	} else if i, _ := p.Attempt(1, balance.Tried{}, right); i == 1 {
		t.Error("its limit is not kept")
	} else if i >= 0 {
		p.Held(i).Done()
	}
	p.Held(1).Done()
}

func TestDownMembersAreTriedByRoundRobin(t *testing.T) {
	f := newFixture(t, balance.Member{}, balance.Member{})
	f.down(0)
	f.down(1)
	p := f.picker(balance.RoundRobin)
	var last, next int
	for i, index := range []*int{&last, &next} {
		right := (*balance.Attempt)(nil)
		for end := time.Now().Add(10 * time.Second); right == nil; { // the second one has to wait
			if *index, right = p.Attempt(-1, balance.Tried{}, nil); time.Now().After(end) {
				t.Fatalf("attempt %d never begins", i)
			}
		}
		right.Done()
	}
	if next != 1-last {
		t.Errorf("%d is tried after %d", next, last)
	}
}

func TestOnlyMembersThatConnectsFailedToAreTried(t *testing.T) {
	f := newFixture(t, balance.Member{})
	p := f.picker(balance.RoundRobin)
	f.down(0)
	f.health.SetGuardian(1, health.Down, time.Now())
	if p.Attemptable() {
		t.Error("a member with failed probes is attemptable")
	}
	f.health.SetGuardian(1, health.Undefined, time.Now())
	if !p.Attemptable() {
		t.Error("a member with failed connects is not attemptable")
	}
	f.health.Eject(1, health.CauseReset, time.Now(), time.Hour)
	if p.Attemptable() {
		t.Error("an ejected member is attemptable")
	}
	f.health.Readmit(1, time.Now())
}
