package guardian_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// town holds the probed servers: the answer of each, and the probes it got.
type town struct {
	mu      sync.Mutex
	broken  map[netip.Addr]string        // reason of the failure
	slow    map[netip.Addr]time.Duration // duration of a probe
	asked   map[netip.Addr][]time.Time
	by      []string
	under   int // running
	most    int
	twice   bool
	present map[string]bool
	cut     [][]uint32
	targets []probe.Target
	routes  []guardian.Route
	lines   int // it reports more than usual
	loads   map[netip.Addr]uint64
	log     logtest.Log
}

func newTown() *town {
	return &town{broken: map[netip.Addr]string{}, slow: map[netip.Addr]time.Duration{}, asked: map[netip.Addr][]time.Time{}, present: map[string]bool{}}
}

// asking is a probe of the town.
type asking struct {
	*town
	command string
}

func (a asking) Run(ctx context.Context, _ probe.Network, to probe.Target, say probe.Say) error {
	a.mu.Lock()
	who := a.command + " " + to.Addr.String()
	a.asked[to.Addr] = append(a.asked[to.Addr], time.Now())
	a.by = append(a.by, who)
	a.targets = append(a.targets, to)
	a.twice = a.twice || a.present[who]
	a.present[who] = true
	a.under++
	a.most = max(a.most, a.under)
	slow := a.slow[to.Addr]
	a.mu.Unlock()
	say("hello %s", to.Name)
	for range a.lines {
		say("and more")
	}
	defer func() {
		a.mu.Lock()
		a.present[who] = false
		a.under--
		a.mu.Unlock()
	}()
	select {
	case <-ctx.Done():
		return errors.New("no answer in time")
	case <-time.After(slow):
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if why, is := strings.CutPrefix(a.broken[to.Addr], "local: "); is {
		return probe.Local(errors.New(why))
	}
	if n, known := a.loads[to.Addr]; known {
		probe.Report(ctx, n)
	}
	if why := a.broken[to.Addr]; why != "" && (a.command != "blind") {
		return errors.New(why)
	}
	return nil
}

func (w *town) breaks(addr netip.Addr, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[addr] = why
}

func (w *town) times(addr netip.Addr) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.asked[addr])
}

// house is a guardian, the town that it probes, and the table that it writes.
type house struct {
	*town
	*guardian.Guardian
	table *health.Table
}

func start(t *testing.T, atOnce int) *house {
	t.Helper()
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, table, atOnce)
}

func startOn(t *testing.T, table *health.Table, atOnce int) *house {
	ctx, cancel := context.WithCancel(t.Context())
	h := &house{town: newTown(), table: table}
	h.Guardian = guardian.New(ctx, guardian.Options{
		Table: table, AtOnce: atOnce, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Network: func(r guardian.Route) probe.Network {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.routes = append(h.routes, r)
			return &probe.Machine{}
		},
		Parse: func(command string) (probe.Probe, error) {
			if command == "nonsense" {
				return nil, errors.New("it is nonsense")
			}
			return asking{h.town, command}, nil
		},
		Cut: func(ids []uint32) { h.mu.Lock(); defer h.mu.Unlock(); h.cut = append(h.cut, ids) },
	})
	t.Cleanup(func() { cancel(); h.Wait() })
	return h
}

func (h *house) state(id uint32) health.State { return h.table.Slot(id).Guardian() }

func server(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}) }

// web returns an http farm with one service. Each backend has the address of its number.
func web(name, check string, ids ...uint32) farm.Farm {
	var list []farm.Backend
	for _, id := range ids {
		list = append(list, farm.Backend{ID: id, Host: server(int(id)).String(), Addr: server(int(id)), Port: 80})
	}
	return farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: server(0), VPort: 80, HTTP: &farm.HTTP{Services: []farm.Service{{Name: "s", Check: check, Backends: list}}}}
}

func alive() farm.Check { return farm.Check{Name: "alive", Command: "ask", Interval: 10, Timeout: 5} }

func config(check farm.Check, farms ...farm.Farm) *farm.Config {
	return &farm.Config{Checks: []farm.Check{check}, Farms: farms}
}

func TestADeadBackendIsDownWithinIntervalAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.Set(config(alive(), web("shop", "alive", 1, 2)))
		time.Sleep(time.Second)
		synctest.Wait()
		if h.state(1) != health.Up || h.state(2) != health.Up {
			t.Fatalf("first results: %v, %v", h.state(1), h.state(2))
		}
		h.mu.Lock()
		h.slow[server(1)] = time.Hour // it hangs
		h.mu.Unlock()
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down || h.state(2) != health.Up || h.table.Slot(1).Usable() {
			t.Errorf("after interval and time-out: %v, %v", h.state(1), h.state(2))
		}
		if why := h.Why(1); why != "fails check alive: no answer in time" || h.Why(2) != "" {
			t.Errorf("%q, %q", why, h.Why(2))
		}
		if log := h.log.String(); !strings.Contains(log, `msg="backend is down" farm=shop service=s backend=10.0.0.1:80 check=alive reason="no answer in time"`) {
			t.Error(log)
		}
	})
}

func TestBackendRecoversAfterSeveralSuccesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Rise, check.Fall = 3, 2
		h.breaks(server(1), "refused")
		h.Set(config(check)) // the appliance was started earlier
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		if h.state(1) != health.Undefined || !h.table.Slot(1).Usable() {
			t.Errorf("after one of two failures: %v", h.state(1))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Errorf("after two: %v", h.state(1))
		}
		h.breaks(server(1), "")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Errorf("after two successes of three: %v", h.state(1))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Up || !strings.Contains(h.log.String(), `msg="backend is up"`) {
			t.Errorf("after three: %v", h.state(1))
		}
	})
}

func TestFarmsShareTasksPerCheckAndAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		a, b, c := web("a", "alive", 1), web("b", "alive", 2), web("c", "other", 3)
		for _, f := range []farm.Farm{a, b, c} {
			f.HTTP.Services[0].Backends[0].Addr = server(9)
		}
		cfg := config(alive(), a, b, c)
		cfg.Checks = append(cfg.Checks, farm.Check{Name: "other", Command: "blind"})
		h.breaks(server(9), "refused")
		h.Set(cfg)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := h.times(server(9)); n != 2 {
			t.Errorf("%d runs, want one for each check", n)
		}
		if h.state(1) != health.Down || h.state(2) != health.Down || h.state(3) != health.Up {
			t.Errorf("%v %v %v", h.state(1), h.state(2), h.state(3))
		}
	})
}

func TestUnusedBackendsAreNotProbed(t *testing.T) {
	for name, change := range map[string]func(*farm.Config){
		"no check":      func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Check = "" },
		"no command":    func(c *farm.Config) { c.Checks[0].Command = "" },
		"maintenance":   func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Backends[0].Maintenance = farm.MaintenanceDrain },
		"stopped":       func(c *farm.Config) { c.Farms[0].Stopped = true },
		"redirect":      func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Redirect = "https://a.example/" },
		"no address":    func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Backends[0].Addr = netip.Addr{} },
		"left its name": func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Backends[0].Left = true },
		"many names":    func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Backends[0].Resolve = farm.ResolveAll },
		"deleted":       func(c *farm.Config) { c.Farms[0].HTTP.Services[0].Backends = nil },
		"farm deleted":  func(c *farm.Config) { c.Farms = nil },
		"nonsense":      func(c *farm.Config) { c.Checks[0].Command = "nonsense" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, 0)
				h.breaks(server(1), "refused")
				h.Set(config(alive(), web("shop", "alive", 1)))
				time.Sleep(time.Second)
				synctest.Wait()
				if h.state(1) != health.Down {
					t.Fatalf("it is %v", h.state(1))
				}
				before := h.times(server(1))
				cfg := config(alive(), web("shop", "alive", 1))
				change(cfg)
				h.Set(cfg)
				if h.state(1) != health.Undefined {
					t.Errorf("it is %v", h.state(1))
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				unable := name == "nonsense" || name == "no command"
				if n := h.times(server(1)); n != before || h.state(1) != health.Undefined || h.Why(1) != "" != unable {
					t.Errorf("%d more runs, %v: it %s", n-before, h.state(1), h.Why(1))
				}
				if _, is := h.Look(1); is {
					t.Error("a result is known")
				}
			})
		})
	}
}

func TestTaskNeverRunsTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Interval, check.Timeout = 1, 60
		h.slow[server(1)] = 3 * time.Second
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if n := h.times(server(1)); h.twice || n < 9 || n > 11 {
			t.Errorf("%d runs, twice at once: %t", n, h.twice)
		}
	})
}

func TestProbesAreSpreadAndBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 8)
		var ids []uint32
		for id := uint32(1); id <= 400; id++ {
			ids = append(ids, id)
			h.slow[server(int(id))] = 5 * time.Millisecond
		}
		h.Set(config(alive())) // the appliance was started earlier
		h.Set(config(alive(), web("shop", "alive", ids...)))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if h.most > 8 || len(h.asked) != 400 {
			t.Errorf("%d at the same time, %d servers checked", h.most, len(h.asked))
		}
		halves := [2]int{}
		for _, at := range h.asked {
			halves[int(at[0].Sub(h.asked[server(1)][0].Truncate(time.Hour)).Seconds())%4/2]++
		}
		if min(halves[0], halves[1]) < 100 {
			t.Errorf("not spread over the four seconds there are: %v", halves)
		}
		if n := h.Counts()["alive"]; n.Healthy != 400 || n.Failed != 0 || n.Took < 400*5*time.Millisecond {
			t.Errorf("%+v", n)
		}
	})
}

func TestProbesThatWaitBeginByPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 1)
		late := farm.Check{Name: "late", Command: "late", Priority: 9}
		soon := farm.Check{Name: "soon", Command: "soon", Priority: 1}
		var all []uint32
		for id := uint32(1); id <= 20; id++ {
			all = append(all, id)
			h.slow[server(int(id))] = time.Second
		}
		cfg := config(late, web("a", "late", all[:10]...), web("b", "soon", all[10:]...))
		cfg.Checks = append(cfg.Checks, soon)
		h.Set(cfg)
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if first := strings.Join(h.by[1:10], ","); strings.Count(first, "soon") != 9 {
			t.Errorf("%s", first)
		}
		if log := h.log.String(); strings.Count(log, "probes wait for their turn") != 1 {
			t.Error(log)
		}
	})
}

// Independently of how many servers hang, the others are probed at their interval.
func TestHangingServersDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 8)
		dead := farm.Check{Name: "dead", Command: "dead", Interval: 30, Timeout: 25, Priority: 1}
		var all []uint32
		for id := uint32(1); id <= 60; id++ {
			all = append(all, id)
			if id <= 40 {
				h.slow[server(int(id))] = time.Hour
			}
		}
		later := dead
		later.Name, later.Priority = "later", 9
		cfg := config(dead, web("a", "dead", all[:35]...), web("b", "later", all[35:40]...), web("c", "alive", all[40:]...))
		cfg.Checks = append(cfg.Checks, later, alive())
		h.Set(cfg)
		time.Sleep(5 * time.Minute) // until the hanging servers are known
		synctest.Wait()
		before := map[uint32]int{}
		for _, id := range all {
			before[id] = h.times(server(int(id)))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		for _, id := range all {
			n := h.times(server(int(id))) - before[id]
			if hangs := id <= 40; hangs && n == 0 || !hangs && n < 28 {
				t.Errorf("backend %d was checked %d times in five minutes", id, n)
			}
		}
		h.mu.Lock()
		for id := range uint32(41) {
			delete(h.slow, server(int(id)))
		}
		h.mu.Unlock()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for _, id := range all {
			if h.state(id) != health.Up {
				t.Errorf("backend %d is %v when all answer again", id, h.state(id))
			}
		}
	})
}

// With a long interval the doubt ends after six minutes, or after the successes that the
// check requires.
func TestDoubtIsBoundedInTime(t *testing.T) {
	for interval, want := range map[farm.Seconds]string{60: "[4 6 6 6]", 120: "[3 3 3 3]", 600: "[2 2 2 2]"} {
		synctest.Test(t, func(t *testing.T) {
			check := alive()
			check.Interval = interval
			h := start(t, 0)
			h.Set(config(check, web("shop", "alive", 1)))
			wait := func() { time.Sleep(time.Duration(interval) * time.Second); synctest.Wait() }
			time.Sleep(time.Second)
			synctest.Wait()
			var took []int
			for range 4 {
				for h.breaks(server(1), "refused"); h.state(1) != health.Down; {
					wait()
				}
				n := 0
				for h.breaks(server(1), ""); h.state(1) != health.Up; n++ {
					wait()
				}
				took = append(took, n)
			}
			if fmt.Sprint(took) != want {
				t.Errorf("needed successes, every %d s: %v, want %s", interval, took, want)
			}
		})
	}
}

func TestFlappingBackendNeedsMoreSuccesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		var took []int
		for range 6 {
			h.breaks(server(1), "refused")
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if h.state(1) != health.Down {
				t.Fatal("it is not down")
			}
			h.breaks(server(1), "")
			n := 0
			for ; h.state(1) != health.Up; n++ {
				time.Sleep(10 * time.Second)
				synctest.Wait()
			}
			took = append(took, n)
		}
		if fmt.Sprint(took) != "[4 8 16 32 32 32]" {
			t.Errorf("needed successes: %v", took)
		}
		time.Sleep(2 * time.Minute) // steady for more than ten intervals
		h.breaks(server(1), "refused")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		h.breaks(server(1), "")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Up {
			t.Error("after a stable period more than two successes are needed")
		}
	})
}

func TestAFindingOutlivesTheProcessUntilAnotherCheckHasAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := start(t, 0)
		first.table.SetGuardian(1, health.Down, time.Now())
		first.table.SetGuardian(3, health.Down, time.Now()) // of a check that is no longer linked
		second := startOn(t, first.table, 0)
		second.Set(config(alive(), web("shop", "alive", 1, 2), web("other", "", 3)))
		if second.state(1) != health.Down || second.state(2) != health.Undefined || second.state(3) != health.Undefined {
			t.Errorf("%v %v %v", second.state(1), second.state(2), second.state(3))
		}
		if why := second.Why(1); why != "failed check alive before mgmt was started" {
			t.Error(why)
		}
		other := alive()
		other.Command = "ask otherwise"
		second.Set(config(other, web("shop", "alive", 1, 2)))
		if why := second.Why(1); second.state(1) != health.Down || why != "failed check alive before mgmt was started" {
			t.Errorf("a changed command without a result: %v, %q", second.state(1), why)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if second.state(1) != health.Up {
			t.Errorf("a changed command with a result: %v", second.state(1))
		}
	})
}

func TestIntervalChangeKeepsTheVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Interval = 3600
		h.breaks(server(1), "refused")
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		check.Interval = 10
		h.Set(config(check, web("renamed", "alive", 1)))
		if f, is := h.Look(1); !is || f.Verdict != health.Down || len(f.Results) != 1 || f.Results[0].Reason != "refused" {
			t.Errorf("%t %+v", is, f)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := h.times(server(1)); n != 2 {
			t.Errorf("%d runs: the shorter interval is ignored", n)
		}
	})
}

// A machine without descriptors, or without the source address, must not change the state
// of every backend.
func TestLocalErrorsChangeNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Logs = true
		h.breaks(server(2), "refused")
		h.breaks(server(3), "local: no descriptor")
		h.Set(config(check, web("shop", "alive", 1, 2, 3)))
		time.Sleep(time.Second)
		synctest.Wait()
		h.breaks(server(1), "local: no descriptor")
		h.breaks(server(2), "local: no descriptor")
		time.Sleep(2 * time.Minute) // more results than are kept
		synctest.Wait()
		if h.state(1) != health.Up || h.state(2) != health.Down || h.state(3) != health.Undefined {
			t.Errorf("%v %v %v", h.state(1), h.state(2), h.state(3))
		}
		if why := h.Why(2); why != "fails check alive: refused" {
			t.Error(why)
		}
		if why := h.Why(1); why != "cannot be asked by check alive: no descriptor; it is still taken to be up" { // it may be down by now
			t.Error(why)
		}
		if f, is := h.Look(1); !is || f.Unable() != "no descriptor" || !f.Results[0].Local || f.Against != 0 {
			t.Errorf("%t %+v", is, f)
		}
		if n := h.Counts()["alive"]; n.Healthy != 1 || n.Failed != 1 {
			t.Errorf("counted against backends: %+v", n)
		}
		if n := strings.Count(h.log.String(), `msg="backend cannot be asked and keeps its state"`); n != 3 {
			t.Errorf("%d lines for 3 backends: %s", n, h.log.String())
		}
		h.breaks(server(1), "")
		h.breaks(server(2), "")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if why := h.Why(1); why != "" {
			t.Errorf("after another check: it %s, want \"\"", why)
		}
		if f, _ := h.Look(1); h.state(1) != health.Up || h.state(2) != health.Up || f.Unable() != "" {
			t.Errorf("after another check: %v %v %+v", h.state(1), h.state(2), f)
		}
	})
}

// A probe that is cut short by the end of mgmt is no failure of the backend.
func TestTheEndOfMgmtTurnsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := start(t, 0)
		ctx, end := context.WithCancel(t.Context())
		g := guardian.New(ctx, guardian.Options{Table: first.table, Network: func(guardian.Route) probe.Network { return &probe.Machine{} },
			Parse: func(command string) (probe.Probe, error) { return asking{first.town, command}, nil }})
		first.slow[server(1)] = time.Hour
		g.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		end()
		g.Wait()
		if first.times(server(1)) != 1 || first.state(1) != health.Undefined {
			t.Errorf("%d runs, the state is %v", first.times(server(1)), first.state(1))
		}
	})
}

func TestTheLastResultsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Logs = true
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(125 * time.Second)
		synctest.Wait()
		h.breaks(server(1), "refused")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		f, is := h.Look(1)
		if !is || f.Check != "alive" || len(f.Results) != 10 || f.Results[0].Reason != "refused" || f.Results[1].Reason != "" || f.Needed != 2 || f.Next.IsZero() {
			t.Fatalf("%t %+v", is, f)
		}
		for i := 1; i < len(f.Results); i++ {
			if f.Results[i-1].At.Sub(f.Results[i].At) != 10*time.Second {
				t.Errorf("result %d is of %v, the one after it of %v", i, f.Results[i].At, f.Results[i-1].At)
			}
		}
		if n := strings.Count(h.log.String(), "backend was asked"); n != 14 {
			t.Errorf("%d lines for 14 probes", n)
		}
	})
}

func TestCutConnsEndsConnectionsOfDownBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		cfg := config(check, web("a", "alive", 1), web("b", "cuts", 2))
		cfg.Checks = append(cfg.Checks, farm.Check{Name: "cuts", Command: "ask", CutConns: true})
		h.breaks(server(1), "refused")
		h.breaks(server(2), "refused")
		h.Set(cfg)
		time.Sleep(time.Minute)
		synctest.Wait()
		if fmt.Sprint(h.cut) != "[[2]]" {
			t.Errorf("cut: %v", h.cut)
		}
	})
}

func TestTryReturnsTheConversationWithoutSideEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		to := probe.Target{Addr: server(1), Port: 80, Name: "a.example"}
		r, said, err := h.Try(t.Context(), "ask", to, time.Second)
		if err != nil || r.Reason != "refused" || fmt.Sprint(said) != "[hello a.example]" {
			t.Errorf("%+v %q %v", r, said, err)
		}
		h.slow[server(1)] = time.Hour
		h.lines = 1000
		if _, said, _ := h.Try(t.Context(), "ask", to, time.Second); len(said) != 200 {
			t.Errorf("%d lines are kept", len(said))
		}
		if r, _, err := h.Try(t.Context(), "ask", to, time.Second); err != nil || r.Reason != "no answer in time" || r.Took != time.Second {
			t.Errorf("%+v %v", r, err)
		}
		if _, _, err := h.Try(t.Context(), "nonsense", to, time.Second); err == nil {
			t.Error("nonsense was run")
		}
		for range 4 {
			go h.Try(t.Context(), "ask", to, time.Minute)
		}
		synctest.Wait()
		if _, _, err := h.Try(t.Context(), "ask", to, time.Second); !errors.Is(err, guardian.ErrBusy) {
			t.Errorf("a fifth at the same time: %v", err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if h.state(1) != health.Undefined {
			t.Errorf("it is %v", h.state(1))
		}
	})
}

func TestProbeTargetEqualsTheClientTarget(t *testing.T) {
	six := netip.MustParseAddr("2001:db8::1")
	of := func(c *farm.Config) *farm.Backend { return &c.Farms[0].L4.Backends[0] }
	for name, c := range map[string]struct {
		change func(*farm.Config)
		to     probe.Target
		from   netip.Addr
	}{
		"its port":                  {func(*farm.Config) {}, probe.Target{Addr: server(1), Port: 80}, netip.Addr{}},
		"that of clients":           {func(c *farm.Config) { of(c).Port = 0 }, probe.Target{Addr: server(1), Port: 53}, netip.Addr{}},
		"no port needed":            {func(c *farm.Config) { of(c).Port, c.Farms[0].L4.Ports = 0, nil }, probe.Target{Addr: server(1)}, netip.Addr{}},
		"a host name":               {func(c *farm.Config) { of(c).Host = "a.example" }, probe.Target{Addr: server(1), Port: 80, Name: "a.example"}, netip.Addr{}},
		"an alias nobody asked for": {func(c *farm.Config) { of(c).Alias = "db" }, probe.Target{Addr: server(1), Port: 80}, netip.Addr{}},
		"an alias":                  {func(c *farm.Config) { of(c).Alias, c.Checks[0].BackendAlias = "db", true }, probe.Target{Addr: server(1), Port: 80, Name: "db"}, netip.Addr{}},
		"the farm's source":         {func(c *farm.Config) { c.Farms[0].L4.Source = server(8) }, probe.Target{Addr: server(1), Port: 80}, server(8)},
		"its own source":            {func(c *farm.Config) { c.Farms[0].L4.Source, of(c).Source = server(8), server(9) }, probe.Target{Addr: server(1), Port: 80}, server(9)},
		"a source it has no use of": {func(c *farm.Config) { c.Farms[0].L4.Source = six }, probe.Target{Addr: server(1), Port: 80}, netip.Addr{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := start(t, 0)
				cfg := config(alive(), farm.Farm{Name: "dns", Profile: farm.ProfileL4, L4: &farm.L4{Ports: []farm.PortRange{{First: 53, Last: 53}}, Check: "alive",
					Backends: []farm.Backend{{ID: 1, Host: server(1).String(), Addr: server(1), Port: 80}}}})
				c.change(cfg)
				h.Set(cfg)
				time.Sleep(time.Second)
				synctest.Wait()
				if len(h.targets) != 1 || h.targets[0] != c.to || h.routes[0].Source != c.from {
					t.Errorf("targets %+v, routes %+v", h.targets, h.routes)
				}
			})
		})
	}
}

func TestUnknownPortIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Command = "ask PORT"
		h.Set(config(check, farm.Farm{Name: "all", Profile: farm.ProfileL4, L4: &farm.L4{Check: "alive", Backends: []farm.Backend{{ID: 1, Host: server(1).String(), Addr: server(1)}}}}))
		time.Sleep(time.Minute)
		synctest.Wait()
		if _, is := h.Look(1); is || h.times(server(1)) != 0 {
			t.Errorf("port 0 was checked")
		}
		if why := h.Why(1); !strings.Contains(why, "needs a port") || !h.table.Slot(1).Unable() {
			t.Errorf("it %q", why)
		}
	})
}

func TestProbeOfAnUnlinkedCheckIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.slow[server(1)] = 3 * time.Second
		h.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		h.Set(config(alive(), web("shop", "", 1)))
		time.Sleep(time.Minute)
		synctest.Wait()
		if h.times(server(1)) != 1 || h.state(1) != health.Undefined || len(h.Counts()) != 0 {
			t.Errorf("%d runs, the state is %v, counts %+v", h.times(server(1)), h.state(1), h.Counts())
		}
	})
}

func TestCountsOfACheckGoWithItsLastUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := h.Counts()["alive"]; n.Healthy != 1 {
			t.Errorf("%+v", n)
		}
		h.Set(config(alive(), web("shop", "", 1)))
		if n := h.Counts(); len(n) != 0 {
			t.Errorf("%+v", n)
		}
	})
}

func TestChangedReasonIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.breaks(server(1), "refused")
		h.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		before := h.Moved()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.Moved() != before {
			t.Error("an unchanged result was reported")
		}
		h.breaks(server(1), "answered 503")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if why := h.Why(1); h.Moved() == before || why != "fails check alive: answered 503" {
			t.Errorf("moved %t, %s", h.Moved() != before, why)
		}
	})
}

func TestFailuresCountInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		check := alive()
		check.Fall = 2
		h.Set(config(check, web("shop", "alive", 1)))
		time.Sleep(time.Second)
		synctest.Wait()
		for _, why := range []string{"refused", "", "refused", "", "refused"} {
			h.breaks(server(1), why)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if h.state(1) != health.Up {
				t.Fatalf("it is %v without two failures in a row", h.state(1))
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if h.state(1) != health.Down {
			t.Errorf("after two failures in a row: %v", h.state(1))
		}
	})
}
