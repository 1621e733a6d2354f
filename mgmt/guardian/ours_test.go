package guardian_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// names returns a gslb farm with one service. Each backend has the address of its number.
func names(name string, s farm.DNSService, ids ...uint32) farm.Farm {
	s.Name = "s"
	for _, id := range ids {
		s.Backends = append(s.Backends, farm.Backend{ID: id, Host: server(int(id)).String(), Addr: server(int(id))})
	}
	return farm.Farm{Name: name, Profile: farm.ProfileGSLB, VIP: server(0), VPort: 53, Global: &farm.GSLB{Services: []farm.DNSService{s}}}
}

func TestUncheckedDNSBackendsAreProbedByTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		h.Set(config(alive(), names("plain", farm.DNSService{}, 1), names("other", farm.DNSService{Port: 8080}, 2), names("checked", farm.DNSService{Check: "alive", Port: 443}, 3)))
		time.Sleep(time.Second)
		synctest.Wait()
		got := map[string]bool{}
		h.mu.Lock()
		for i, to := range h.targets {
			got[fmt.Sprint(h.by[i], " ", to.Port)] = true
		}
		h.mu.Unlock()
		for _, want := range []string{"check_tcp -p PORT -H HOST 10.0.0.1 80", "check_tcp -p PORT -H HOST 10.0.0.2 8080", "ask 10.0.0.3 443"} {
			if !got[want] {
				t.Errorf("%v, want %s", got, want)
			}
		}
		if h.state(1) != health.Up || h.state(2) != health.Up || h.state(3) != health.Up {
			t.Errorf("%v %v %v", h.state(1), h.state(2), h.state(3))
		}
	})
}

// told is a guardian with a function for the states of farms.
type told struct {
	*guardian.Guardian
	table  *health.Table
	status map[string]farm.Status
	log    logtest.Log
	asked  int
	open   map[string]uint64 // connections of farms
}

func toldOf(t *testing.T, table *health.Table) *told {
	ctx, cancel := context.WithCancel(t.Context())
	h := &told{table: table, status: map[string]farm.Status{}}
	h.Guardian = guardian.New(ctx, guardian.Options{
		Table: table, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
		Open: func(farms []*farm.Farm) map[uint32]uint64 {
			out := map[uint32]uint64{}
			for _, f := range farms {
				if n, known := h.open[f.Name]; known {
					out[f.ID] = n
				}
			}
			return out
		},
		Farm: func(f *farm.Farm) (farm.Status, string) {
			h.asked++
			return h.status[f.Name], h.Why(7) + "so it is" // it calls the guardian itself
		},
		Network: func(guardian.Route) probe.Network { return &probe.Machine{} },
		Parse:   func(command string) (probe.Probe, error) { return asking{newTown(), command}, nil },
	})
	t.Cleanup(func() { cancel(); h.Wait() })
	return h
}

func newHealth(t *testing.T) *health.Table {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDNSBackendTakesTheStatusOfALocalFarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := toldOf(t, newHealth(t))
		shop := web("shop", "", 7)
		shop.VIP, shop.VPort = server(1), 80
		cfg := config(alive(), shop, names("n", farm.DNSService{}, 1, 2))
		h.Set(cfg)
		if h.table.Slot(1).Guardian() != health.Undefined {
			t.Error("a result is known before the farms are")
		}
		for _, c := range []struct {
			status farm.Status
			want   health.State
			why    string
		}{
			{farm.StatusUp, health.Up, ""},
			{farm.StatusDown, health.Down, "is at the address of a farm that is down"},
			{farm.StatusProblem, health.Up, ""},
			{farm.StatusCritical, health.Down, "is at the address of a farm that is critical"},
			{farm.StatusNeededRestart, health.Up, ""},
			{farm.StatusMaintenance, health.Up, ""},
		} {
			h.status["shop"] = c.status
			before := h.Moved()
			h.LookFarms()
			if got := h.table.Slot(1).Guardian(); got != c.want || h.Why(1) != c.why {
				t.Errorf("%s: %v, %q", c.status, got, h.Why(1))
			}
			h.LookFarms()
			if moved := h.Moved() - before; moved > 1 {
				t.Errorf("%s: moved %d times", c.status, moved)
			}
		}
		f, is := h.Look(1)
		if !is || f.Farm != "shop" || f.Verdict != health.Up || len(f.Results) != 5 || !f.Next.IsZero() {
			t.Errorf("%+v", f)
		}
		if f, _ := h.Look(2); f.Farm != "" || f.Check != "check_tcp" {
			t.Errorf("the other backend is checked: %+v", f)
		}
		if !strings.Contains(h.log.String(), `msg="backend is down" farm=n service=s backend=10.0.0.1:80`) {
			t.Error(h.log.String())
		}
	})
}

func TestAFarmOnAnotherPortOrOfNamesIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := toldOf(t, newHealth(t))
		shop, other := web("shop", "", 7), names("other", farm.DNSService{}, 8)
		shop.VIP, shop.VPort = server(1), 8080
		other.VIP, other.VPort = server(2), 80
		h.Set(config(alive(), shop, other, names("n", farm.DNSService{}, 1, 2)))
		h.LookFarms()
		if h.asked != 0 {
			t.Errorf("%d runs", h.asked)
		}
	})
}

// One of two farms with an address may be stopped, e.g. while one takes over from the
// other.
func TestOneOfSeveralFarmsOfAnAddressIsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := toldOf(t, newHealth(t))
		blue, green := web("blue", "", 7), web("green", "", 8)
		blue.ID, green.ID = 1, 2
		blue.VIP, green.VIP = server(1), server(1)
		blue.Stopped = true
		h.status["green"] = farm.StatusUp
		n := names("n", farm.DNSService{}, 1)
		h.Set(config(alive(), blue, green, n))
		h.LookFarms()
		if got := h.table.Slot(1).Guardian(); got != health.Up {
			t.Errorf("%v: %s", got, h.Why(1))
		}
		green.Stopped = true
		h.Set(config(alive(), blue, green, n))
		h.LookFarms()
		if got := h.table.Slot(1).Guardian(); got != health.Down || !strings.Contains(h.Why(1), "a farm that is stopped") {
			t.Errorf("%v: %s", got, h.Why(1))
		}
	})
}

// Clients get no address with unknown state: a new mgmt continues with the verdicts of the
// previous one.
func TestVerdictsSurviveARestartOfMgmt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := newHealth(t)
		table.SetGuardian(1, health.Up, time.Now())
		table.SetGuardian(2, health.Down, time.Now())
		table.SetGuardian(3, health.Up, time.Now())
		h := toldOf(t, table)
		shop := web("shop", "", 7)
		shop.VIP = netip.MustParseAddr("10.0.0.3")
		h.Set(config(alive(), shop, names("n", farm.DNSService{}, 1, 2, 3)))
		if table.Slot(1).Guardian() != health.Up || table.Slot(2).Guardian() != health.Down || table.Slot(3).Guardian() != health.Up {
			t.Errorf("%v %v %v", table.Slot(1).Guardian(), table.Slot(2).Guardian(), table.Slot(3).Guardian())
		}
		if why := h.Why(2); why != "failed check check_tcp before mgmt was started" {
			t.Error(why)
		}
	})
}
