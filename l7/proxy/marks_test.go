package proxy_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/marks/markstest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// marking provides an appliance with sockets without privilege.
func marking(t *testing.T, a *l7test.Appliance) *markstest.Maker {
	t.Helper()
	m := markstest.New(t, a.Logger())
	a.Engine.MarkWith(m.Reserve)
	return m
}

func TestMarkedConnectionsUseTheSocketsOfTheReserve(t *testing.T) {
	t.Parallel()
	b := seen(t)
	a := l7test.New(t, 2)
	m := marking(t, a)
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(nil, s)
	ask := func() {
		t.Helper()
		if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
			t.Errorf("answered %s", res.Status)
		}
	}
	ask()
	if made := m.Made(); made != nil {
		t.Errorf("without a mark %v were made", made)
	}
	a.Serve(func(h *farm.HTTP) { h.Mark = 9 }, s)
	ask()
	s.Backends[0].Mark, s.Backends[0].Source = 7, netip.MustParseAddr("127.0.0.8")
	a.Serve(nil, s)
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.Text != "127.0.0.8" {
		t.Errorf("with a mark and a source, the connection came from %s", res.Text)
	}
	if made := m.Made(); !slices.Equal(made, []marks.Kind{{Mark: 7}, {Mark: 9}}) {
		t.Errorf("made: %v", made)
	}
}

func TestMarksThatCannotBeHadAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	b := seen(t)
	a := l7test.New(t, 1)
	m := marking(t, a)
	m.Code.Store(int32(marks.NotPermitted))
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(nil, s)
	for number, edit := range []func(f *farm.Farm){
		func(f *farm.Farm) { f.HTTP.Services[0].Backends[0].Mark = 7 }, func(f *farm.Farm) { f.HTTP.Mark = 7 },
	} {
		f := a.Farm.Clone()
		edit(&f)
		_, err := a.Engine.Publish(uint64(100+number), &farm.Config{Farms: []farm.Farm{f}}, nil)
		if err == nil || !strings.Contains(err.Error(), "mark 7") || !strings.Contains(err.Error(), "start Sluice as root") {
			t.Errorf("refused with %v", err)
		}
	}
	m.Quiet.Store(true)
	f := a.Farm.Clone()
	f.HTTP.Mark = 8
	if _, err := a.Engine.Publish(102, &farm.Config{Farms: []farm.Farm{f}}, nil); !errors.Is(err, marks.ErrSilent) {
		t.Errorf("refused with %v", err)
	}
	if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
		t.Errorf("the table in use answers %s", res.Status)
	}
}

func TestNoSocketWithTheMarkIsNotTheBackendsFault(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		if _, err := r.Head(); err == nil {
			r.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		}
	})
	a := l7test.New(t, 1)
	m := marking(t, a)
	s := l7test.Service("web", b.Addr)
	addr := a.Serve(func(h *farm.HTTP) { h.Mark = 7 }, s)
	m.Quiet.Store(true)
	c := l7test.Dial(t, addr)
	failed := 0
	for range 2000 {
		if c.Send(get("/")).Get().StatusCode == 503 {
			failed++
			if failed == 20 {
				break
			}
		}
	}
	if failed == 0 || !a.Health.Slot(1).Usable() {
		t.Fatalf("%d failed; the backend is usable: %t", failed, a.Health.Slot(1).Usable())
	}
	l7test.Eventually(t, "the log says why", func() bool { return len(a.Log.Lines("class=no-marked-socket")) > 0 })
	classes, counted := a.Segment.Classes(), a.Segment.SumRejections(1)
	for i, name := range classes {
		if name == "no-marked-socket" && counted[i] != uint64(failed) {
			t.Errorf("%d counted, want %d", counted[i], failed)
		}
	}
	m.Quiet.Store(false)
	l7test.Eventually(t, "it goes on when there are sockets", func() bool { return c.Send(get("/")).Get().StatusCode == 200 })
}

func TestChangesDoNotAskForMarksThatAreInUse(t *testing.T) {
	t.Parallel()
	b := seen(t)
	a := l7test.New(t, 1)
	m := marking(t, a)
	s := l7test.Service("web", b.Addr)
	a.Serve(func(h *farm.HTTP) { h.Mark = 7 }, s)
	m.Quiet.Store(true)
	for { // until the reserve is empty
		fd, err := m.Reserve.Socket(false, 7)
		if err != nil {
			break
		}
		shm.CloseDescriptors([]int{fd})
	}
	a.Serve(func(h *farm.HTTP) { h.MaxBody = 5 }, s) // otherwise it would be refused
}

func TestMarkedBackendThatWasDownIsFoundAgain(t *testing.T) {
	t.Parallel()
	port := enginetest.NewSilent(t)
	a := l7test.New(t, 2)
	marking(t, a)
	front := a.Serve(func(h *farm.HTTP) { h.ResurrectTime, h.Mark = 1, 7 }, l7test.Service("web", port.Addr))
	if res := l7test.Dial(t, front).Send(get("/")).Get(); res.StatusCode != 503 || a.Health.Slot(1).Usable() {
		t.Fatalf("answered %s", res.Status)
	}
	defer port.Listen().Close()
	l7test.Eventually(t, "a probe finds it", func() bool { return a.Health.Slot(1).Usable() })
}
