package ports_test

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/ports"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side simulates a loop: posted functions run in another goroutine, one at a time.
type side struct {
	mu       sync.Mutex
	listened map[*ports.Port]*os.File
	fail     error
}

func (s *side) Post(fn func()) {
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		fn()
	}()
}

func (s *side) Listen(p *ports.Port, f *os.File) error {
	if s.fail == nil {
		s.listened[p] = f
	}
	return s.fail
}

func (s *side) Unlisten(p *ports.Port) { delete(s.listened, p) }

func (s *side) Socket(p *ports.Port) (*os.File, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	return os.Open(s.listened[p].Name())
}

func loops(n int) (sides []*side) {
	for range n {
		sides = append(sides, &side{listened: map[*ports.Port]*os.File{}})
	}
	return sides
}

func at(addr string) farm.Listener {
	return farm.Listener{Transport: farm.L4TCP, Addr: netip.MustParseAddrPort(addr)}
}

// files returns n distinct files.
func files(t *testing.T, n int) (list []*os.File) {
	t.Helper()
	for range n {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		list = append(list, f)
	}
	return list
}

func TestAPortKeepsItsNumber(t *testing.T) {
	s := ports.New(loops(1))
	a, b := s.Of(at("192.0.2.1:80")), s.Of(at("192.0.2.1:81"))
	udp := s.Of(farm.Listener{Transport: farm.L4UDP, Addr: a.Addr})
	if a.Number != 0 || b.Number != 1 || udp.Number != 2 || s.Of(at("192.0.2.1:80")) != a {
		t.Errorf("%+v %+v %+v", a, b, udp)
	}
}

func TestEachLoopHasItsOwnSocket(t *testing.T) {
	sides := loops(3)
	s, given := ports.New(sides), files(t, 3)
	l := at("192.0.2.1:80")
	if err := s.Listen(l, given); err != nil {
		t.Fatal(err)
	}
	for i, f := range given {
		if sides[i].listened[s.Of(l)] != f {
			t.Errorf("loop %d has another socket", i)
		}
	}
	if !s.Open(l) || s.Open(at("192.0.2.1:81")) || !slices.Equal(s.Keys(), []string{"tcp/192.0.2.1:80"}) {
		t.Errorf("open: %v", s.Keys())
	}
	if err := s.Listen(l, nil); err != nil {
		t.Errorf("an open port must not need sockets: %v", err)
	}
	again := s.Sockets("tcp/192.0.2.1:80")
	if len(again) != 3 || again[1].Name() != given[1].Name() || s.Sockets("tcp/192.0.2.1:81") != nil {
		t.Errorf("duplicates: %v", again)
	}
	for _, f := range again {
		_ = f.Close()
	}
}

func TestAPortIsOpenOnAllLoopsOrNone(t *testing.T) {
	sides := loops(3)
	s, l := ports.New(sides), at("192.0.2.1:80")
	if err := s.Listen(l, files(t, 2)); err == nil || !strings.Contains(err.Error(), "2 sockets for 3 loops") {
		t.Errorf("too few sockets: %v", err)
	}
	sides[1].fail = errors.New("broken")
	if err := s.Listen(l, files(t, 3)); !errors.Is(err, sides[1].fail) || !strings.HasPrefix(err.Error(), "tcp/192.0.2.1:80: ") {
		t.Errorf("one fails: %v", err)
	}
	if s.Open(l) || len(sides[0].listened)+len(sides[2].listened) != 0 {
		t.Error("it is open on some")
	}
	sides[1].fail = nil
	if err := s.Listen(l, files(t, 3)); err != nil {
		t.Fatal(err)
	}
	sides[2].fail = errors.New("broken")
	if got := s.Sockets("tcp/192.0.2.1:80"); got != nil {
		t.Errorf("duplicates of some: got %v, want nil", got)
	}
}

func TestClosedPortsEndAfterTheirGrace(t *testing.T) {
	sides := loops(2)
	s := ports.New(sides)
	for _, addr := range []string{"192.0.2.1:80", "192.0.2.1:81", "192.0.2.1:82"} {
		if err := s.Listen(at(addr), files(t, 2)); err != nil {
			t.Fatal(err)
		}
	}
	kept, soon, late := s.Of(at("192.0.2.1:80")), s.Of(at("192.0.2.1:81")), s.Of(at("192.0.2.1:82"))
	closed := s.Unlisten(func(p *ports.Port) bool { return p == kept })
	if len(closed) != 2 || slices.Contains(closed, kept) || len(sides[1].listened) != 1 || !slices.Equal(s.Keys(), []string{"tcp/192.0.2.1:80"}) {
		t.Errorf("closed: %v, open: %v", closed, s.Keys())
	}
	soon.Grace, late.Grace = 0, time.Hour
	if over := s.Over(); len(over) != 1 || !over[soon] {
		t.Errorf("over: %v", over)
	}
	if again := s.Unlisten(func(*ports.Port) bool { return false }); len(again) != 1 || again[0] != kept {
		t.Errorf("closed then: %v", again)
	}
}

func TestIdleWaitsForAllSidesUpToItsLimit(t *testing.T) {
	sides := loops(3)
	s := ports.New(sides)
	if n := s.Sum(func(*side) int { return 7 }); n != 21 {
		t.Errorf("the sum is %d, want 21", n)
	}
	left := 4
	s.Idle(time.Hour, func(one *side) int {
		if one != sides[1] {
			return 0
		}
		left--
		return left
	})
	if left != 0 {
		t.Errorf("%d are under way", left)
	}
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		s := ports.New(loops(1))
		s.Idle(time.Second, func(*side) int { asked++; return 1 })
		if took := time.Since(began); took != time.Second || asked != 51 {
			t.Errorf("it took %v with %d calls", took, asked)
		}
	})
}
