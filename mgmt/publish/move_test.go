package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/link"
	"github.com/sluicelb/sluice/mgmt/publish"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// keeper is a SessionStore that records its calls.
type keeper struct {
	mu    sync.Mutex
	list  []link.Session
	more  int // sessions beyond those in list
	fails error
	hangs bool // Sessions blocks until its context ends
	notes []string
	when  func() string
}

func (k *keeper) Sessions(ctx context.Context, service uint32, limit int) (int, []link.Session, error) {
	if k.hangs {
		<-ctx.Done()
		return 0, nil, ctx.Err()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = append(k.notes, fmt.Sprintf("asked for %d of %d %s", limit, service, k.when()))
	return len(k.list) + k.more, k.list, k.fails
}

func (k *keeper) ChangeSessions(_ context.Context, c link.SessionChange) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	what := fmt.Sprintf("told %d %s", len(c.List), k.when())
	if c.Act == link.FlushSessions {
		what = "flushed " + k.when()
	}
	if c.Service != 9 || len(c.List) > 0 && string(c.List[0].Key) != "learned" {
		what = fmt.Sprintf("told %+v", c)
	}
	k.notes = append(k.notes, what)
	return len(c.List), k.fails
}

// sessionConfig returns a configuration with sessions on a kernel farm, or the same farm in the engine.
func sessionConfig(inKernel bool, change func(f *farm.Farm)) *farm.Config {
	cfg := mixed("web")
	f := &cfg.Farms[1]
	f.L4.Persist = farm.L4PersistSrc
	if !inKernel {
		f.L4.NAT, f.L4.DataPath = farm.NATMasquerade, farm.DataPathUserspace
	}
	if change != nil {
		change(f)
	}
	return cfg
}

// Clients stay on their backends when the data path of their farm changes: sessions are read
// from the old path before the switch and written to the new one afterwards.
func TestSessionsMoveWithTheirFarm(t *testing.T) {
	learned := func(n int) (list []link.Session) {
		for range n {
			list = append(list, link.Session{Key: []byte("learned"), Backend: 5})
		}
		return append(list, link.Session{Key: []byte("static"), Static: true})
	}
	no := errors.New("no")
	for what, c := range map[string]struct {
		list           []link.Session
		more           int
		fromKernel     bool
		change         func(f *farm.Farm)
		asks, tells    error
		from, to, says string
	}{
		"to the kernel":        {list: learned(2), from: "asked for 16000 of 9 before", to: "told 2 after"},
		"to the engine":        {list: learned(2), fromKernel: true, from: "asked for 16000 of 9 before", to: "flushed after, told 2 after"},
		"more than are listed": {list: learned(2), more: 1, fromKernel: true, from: "asked for 16000 of 9 before", to: "told 2 after"},
		"many":                 {list: learned(link.MaxLearned + 1), from: "asked for 16000 of 9 before", to: "told 10000 after, told 1 after"},
		"none":                 {list: learned(0), fromKernel: true, from: "asked for 16000 of 9 before", to: "flushed after"},
		"by other words":       {list: learned(2), change: func(f *farm.Farm) { f.L4.Persist = farm.L4PersistSrcPt }},
		"by none any more":     {list: learned(2), change: func(f *farm.Farm) { f.L4.Persist = farm.L4PersistNone }},
		"stopped":              {list: learned(2), change: func(f *farm.Farm) { f.Stopped = true }},
		"they cannot be had":   {list: learned(2), asks: no, from: "asked for 16000 of 9 before", says: "not carried over"},
		"they are not taken":   {list: learned(link.MaxLearned + 1), fromKernel: true, tells: no, from: "asked for 16000 of 9 before", to: "flushed after, told 10000 after", says: "not carried over"},
	} {
		k, e := &kernel{}, newEngine()
		inKernel, inEngine := &keeper{}, &keeper{}
		e.sessions = inEngine
		b := newBench(t, sessionConfig(c.fromKernel, nil), func(o *publish.Options) {
			o.Kernel, o.KernelSessions = k, inKernel
		})
		b.start(t, e)
		if _, err := b.Publish(t.Context(), sessionConfig(c.fromKernel, nil)); err != nil { // nothing moves
			t.Fatal(err)
		}
		from, to := inEngine, inKernel
		if c.fromKernel {
			from, to = to, from
		}
		told, taken := len(k.lives()), len(e.lives())
		when := func() string {
			switch nowTold, nowTaken := len(k.lives()), len(e.lives()); {
			case nowTold == told && nowTaken == taken:
				return "before"
			case nowTold > told && nowTaken > taken:
				return "after"
			}
			return "meanwhile"
		}
		from.when, from.list, from.more, from.fails = when, c.list, c.more, c.asks
		to.when, to.fails = when, c.tells
		if _, err := b.Publish(t.Context(), sessionConfig(!c.fromKernel, c.change)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := strings.Join(from.notes, ", "); got != c.from {
			t.Errorf("%s: steps of the old owner %q, want %q", what, got, c.from)
		}
		if got := strings.Join(to.notes, ", "); got != c.to {
			t.Errorf("%s: steps of the new owner %q, want %q", what, got, c.to)
		}
		if log := b.log.String(); strings.Contains(log, "not carried over") != (c.says != "") {
			t.Errorf("%s: log\n%s", what, log)
		}
	}
}

// A partner that does not reply delays a publication only for a bounded time.
func TestHangingPartnerDelaysPublicationBriefly(t *testing.T) {
	for what, c := range map[string]struct {
		hang          func(k *kernel, inEngine *keeper)
		before, after *farm.Config
		within        time.Duration
		problem       string
	}{
		"changing rules":         {func(k *kernel, _ *keeper) { k.hangs = true }, sessionConfig(true, nil), mixed("other"), 30 * time.Second, "the kernel cannot carry it"},
		"asked what it carries":  {func(k *kernel, _ *keeper) { k.hangsAsked = true }, sessionConfig(true, nil), sessionConfig(true, nil), 5 * time.Second, ""},
		"asked for its sessions": {func(_ *kernel, s *keeper) { s.hangs = true }, sessionConfig(false, nil), sessionConfig(true, nil), 5 * time.Second, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			k, e, inEngine := &kernel{}, newEngine(), &keeper{}
			e.sessions = inEngine
			b := newBench(t, c.before, func(o *publish.Options) {
				o.Kernel, o.KernelSessions = k, &keeper{when: func() string { return "" }}
			})
			b.start(t, e)
			k.set(func() { c.hang(k, inEngine) })
			began := time.Now()
			out, err := b.Publish(t.Context(), c.after)
			if took := time.Since(began); err != nil || took > c.within || !strings.Contains(out.FarmErrors[99], c.problem) || (out.FarmErrors[99] != "") != (c.problem != "") {
				t.Errorf("%s: after %v: %v, %v", what, took, out.FarmErrors, err)
			}
		})
	}
}

// An unreachable engine is dialled again soon, but not in a busy loop.
func TestEngineIsDialledUntilReachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		var hangs atomic.Bool
		newBench(t, config(a), func(o *publish.Options) {
			o.Dial = func(ctx context.Context) (publish.Engine, error) {
				if dials.Add(1); hangs.Load() {
					<-ctx.Done()
				}
				return nil, errors.New("not yet")
			}
		})
		time.Sleep(time.Second)
		if n := dials.Load(); n < 10 || n > 100 {
			t.Errorf("%d dials in a second", n)
		}
		hangs.Store(true)
		dials.Store(0)
		time.Sleep(time.Minute)
		if n := dials.Load(); n < 3 || n > 10 {
			t.Errorf("%d dials in a minute, of which none was answered", n)
		}
	})
}

// Without a change nothing is published again; external changes are noticed and failures
// retried.
func TestUnchangedConfigurationIsNotRepublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, k, e := withKernel(t, mixed("web"))
		wants := func(when string, told, taken int) {
			t.Helper()
			time.Sleep(11 * time.Second)
			if len(k.lives()) != told || len(e.lives()) != taken {
				t.Errorf("%s: %d publications to the kernel, want %d; to the engine %d, want %d", when, len(k.lives()), told, len(e.lives()), taken)
			}
		}
		wants("at rest", 1, 1)
		k.set(func() { k.away = errors.New("netd restarts") })
		wants("without netd", 1, 1)
		k.set(func() { k.away, k.state = nil, ctl.KernelState{} })
		wants("with another netd", 2, 2)
		k.set(func() { k.away = errors.New("netd restarts") })
		b.mu.Lock()
		b.current = mixed("renamed")
		b.mu.Unlock()
		if _, err := b.Publish(t.Context(), b.current); err != nil {
			t.Fatal(err)
		}
		k.set(func() { k.away = nil })
		wants("with netd after an error", 3, 4)
		b.netd.mu.Lock()
		b.netd.broken[b2] = &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}
		b.netd.mu.Unlock()
		b.mu.Lock()
		b.current = config(a, b2)
		b.mu.Unlock()
		if _, err := b.Publish(t.Context(), b.current); err != nil {
			t.Fatal(err)
		}
		wants("without an address", 4, 5)
		if _, err := b.Publish(t.Context(), b.current); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.log.String(), `msg="farm does not run" farm=fb`); n != 1 {
			t.Errorf("logged %d times:\n%s", n, &b.log)
		}
		b.netd.mu.Lock()
		clear(b.netd.broken)
		b.netd.mu.Unlock()
		wants("with the address", 4, 7)
		k.set(func() { k.away, k.asked = errors.New("netd restarts"), 0 })
		wants("without farms of the kernel and netd", 4, 7)
		if k.set(func() {}); k.asked != 0 {
			t.Errorf("netd was asked %d times although it has no farm", k.asked)
		}
		const again = "configuration not published, trying again"
		if strings.Contains(b.log.String(), again) {
			t.Errorf("a failure was logged without one:\n%s", &b.log)
		}
		_ = e.Close()
		next := newEngine()
		next.refuse = "no"
		b.engines <- next
		time.Sleep(5 * time.Second)
		tries := strings.Count(b.log.String(), again)
		if tries == 0 {
			t.Errorf("log:\n%s", &b.log)
		}
		next.mu.Lock()
		next.refuse = ""
		next.mu.Unlock()
		time.Sleep(5 * time.Second)
		if len(next.lives()) != 1 || strings.Count(b.log.String(), again) != tries {
			t.Errorf("the next engine got %d configurations:\n%s", len(next.lives()), &b.log)
		}
	})
}
