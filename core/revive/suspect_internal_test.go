package revive

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
)

func TestRetryIntervalsStartShortAndDouble(t *testing.T) {
	for _, c := range []struct {
		every time.Duration
		want  []time.Duration
	}{
		{21 * time.Second, []time.Duration{200, 400, 800, 1600, 3200, 6400, 12800, 21000, 21000}},
		{time.Second, []time.Duration{200, 400, 800, 1000, 1000}},
		{50 * time.Millisecond, []time.Duration{50, 50}},
	} {
		s := newSuspect(&Backend{Every: c.every})
		now := time.Now()
		for i, want := range c.want {
			if got := s.next.Sub(now).Round(10 * time.Millisecond); got != want*time.Millisecond {
				t.Errorf("every %v: try %d after %v, want %v ms", c.every, i, got, int64(want))
			}
			now = s.next
			s.wait(now)
		}
	}
}

// Connects may succeed while exchanges fail; with UDP they always do. A backend that
// fails again at once keeps its retry interval.
func TestFlappingBackendKeepsItsRetryInterval(t *testing.T) {
	s := newSuspect(&Backend{Every: 21 * time.Second})
	now := s.next
	s.wait(now)
	s.wait(now)
	s.since = now
	if s.down() || s.tried() || s.steady(now.Add(20*time.Second)) || !s.steady(now.Add(22*time.Second)) {
		t.Error("it must be remembered for 20 s after its return, and forgotten after 22 s")
	}
	s.lose(now)
	if got := s.next.Sub(now); got != 1600*time.Millisecond || !s.down() {
		t.Errorf("it is tried after %v", got)
	}
	s.lose(now.Add(time.Second))
	if got := s.next.Sub(now); got != 1600*time.Millisecond {
		t.Errorf("a backend known to be down delays the next try to %v", got)
	}
	s.Every = time.Second
	if s.hurry(now); s.next.Sub(now) != time.Second {
		t.Errorf("with less time between tries it is tried after %v", s.next.Sub(now))
	}
}

func TestConfirmedDoubtRestartsTheBackoff(t *testing.T) {
	s := newSuspect(&Backend{Every: 21 * time.Second})
	now := s.next
	s.blames, s.next = func(error) bool { return true }, now
	if s.down() || !s.tried() || s.steady(now.Add(time.Hour)) {
		t.Error("a doubted backend is down, untried or forgotten")
	}
	s.lose(now)
	if !s.down() || s.next.Sub(now) != soonest {
		t.Errorf("down %t, tried after %v", s.down(), s.next.Sub(now))
	}
}

// A retry that waits for a packet lost in the outage would outlast it.
func TestFirstProbesHaveShortTimeouts(t *testing.T) {
	s := newSuspect(&Backend{Every: 21 * time.Second, Timeout: 20 * time.Second})
	if got := s.try().Timeout; got != time.Second {
		t.Errorf("the first one may take %v, want %v", got, time.Second)
	}
	for range 7 {
		s.wait(time.Now())
	}
	if got := s.try().Timeout; got != 20*time.Second {
		t.Errorf("a late one may take %v", got)
	}
	s.Timeout = 500 * time.Millisecond
	if got := s.try().Timeout; got != 500*time.Millisecond {
		t.Errorf("it may take %v, more than exchanges wait", got)
	}
}

func TestABackendIsTriedOnceAtATime(t *testing.T) {
	h := enginetest.New(t, 1)
	release := make(chan struct{})
	h.Loops[0].Post(func() { <-release }) // retries wait for the loop
	p := &Prober{loops: h.Loops, health: h.Health, suspects: map[key]*suspect{}, slots: make(chan struct{}, 2), ctx: t.Context()}
	s := p.suspect(&Backend{ID: 1, Every: time.Second, Timeout: time.Second})
	for range 2 {
		p.due(s.next)
	}
	if len(p.slots) != 1 {
		t.Errorf("%d tries are under way", len(p.slots))
	}
	close(release)
	enginetest.Eventually(t, "it is over", func() bool { return len(p.slots) == 0 })
	h.End(t, func() {})
}

// An outage of many backends uses a limited number of descriptors.
func TestNoMoreThanSixtyFourBackendsAreTriedAtATime(t *testing.T) {
	h := enginetest.New(t, 1)
	release := make(chan struct{})
	h.Loops[0].Post(func() { <-release }) // retries wait for the loop
	p := New(h.Loops, h.Health, h.Logger())
	for id := range uint32(80) {
		p.suspect(&Backend{ID: id, Every: time.Hour, Timeout: time.Second})
	}
	p.due(time.Now().Add(time.Minute))
	if n := len(p.slots); n != 64 {
		t.Errorf("%d tries are under way", n)
	}
	p.Close()
	close(release)
	enginetest.Eventually(t, "they are over", func() bool { return len(p.slots) == 0 })
	h.End(t, func() {})
}

func TestDoubtKeepsARecoveredSuspect(t *testing.T) {
	p := &Prober{suspects: map[key]*suspect{}}
	b := &Backend{ID: 1, Every: time.Second}
	s := p.suspect(b)
	s.since = time.Now()
	s.blames = func(error) bool { return false }
	p.decide(b.key(), s, errors.New("ours"))
	if p.suspects[b.key()] != s || s.tried() {
		t.Error("it is forgotten, or still doubted")
	}
}
