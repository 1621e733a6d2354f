package guardian_test

import (
	"context"
	"math"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
)

func TestProbeLatencyIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		is := func(when string, id uint32, want time.Duration) {
			t.Helper()
			if got := h.table.Slot(id).Latency(); got != want {
				t.Errorf("%s: %v of backend %d, want %v", when, got, id, want)
			}
		}
		takes := func(d time.Duration) {
			h.mu.Lock()
			h.slow[server(1)] = d
			h.mu.Unlock()
		}
		takes(80 * time.Millisecond)
		h.Set(config(alive(), web("shop", "alive", 1, 2)))
		is("before any result", 1, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		is("the first", 1, 80*time.Millisecond)
		takes(160 * time.Millisecond)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		is("a slower one", 1, 90*time.Millisecond)
		h.breaks(server(1), "refused")
		time.Sleep(20 * time.Second)
		synctest.Wait()
		is("failures say nothing", 1, 90*time.Millisecond)
		h.Set(config(alive(), web("shop", "alive", 1, 3)))
		is("after a change", 1, 90*time.Millisecond)
		next := startOn(t, h.table, 0) // mgmt starts again
		next.Set(config(alive(), web("shop", "alive", 1)))
		is("after a restart", 1, 90*time.Millisecond)
		next.Set(config(alive(), web("shop", "", 1)))
		is("nobody asks any more", 1, 0)
	})
}

// queued is a probe that waits for other probes of this machine before it begins.
type queued struct{ asking }

func (q queued) Run(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) error {
	const wait = 3 * time.Second
	time.Sleep(wait)
	probe.Waited(ctx, wait)
	return q.asking.Run(ctx, n, to, say)
}

func TestQueueTimeIsNotLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := start(t, 0)
		h := restart(t, before, func(o *guardian.Options) {
			o.Parse = func(command string) (probe.Probe, error) {
				return queued{asking{before.town, command}}, nil
			}
		})
		h.slow[server(1)] = 20 * time.Millisecond
		h.Set(config(alive(), web("shop", "alive", 1)))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		f, _ := h.Look(1)
		if got := h.table.Slot(1).Latency(); got != 20*time.Millisecond || f.Results[0].Took != got {
			t.Errorf("latency %v, %+v", got, f.Results)
		}
	})
}

// unknown is a load that was not reported.
const unknown = -1

func loadIs(t *testing.T, when string, table *health.Table, id uint32, want int) {
	t.Helper()
	got := unknown
	if n, known := table.Load(id); known {
		got = int(n)
	}
	if got != want {
		t.Errorf("%s: backend %d has %d connections, want %d", when, id, got, want)
	}
}

func TestBackendLoadComesFromItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := start(t, 0)
		tells := func(n uint64) {
			h.mu.Lock()
			h.loads = map[netip.Addr]uint64{server(1): n}
			h.mu.Unlock()
		}
		later := func() { time.Sleep(20 * time.Second); synctest.Wait() }
		h.table.SetLoad(2, 9) // of an earlier backend with the number
		tells(40)
		h.Set(config(alive(), web("shop", "alive", 1, 2)))
		h.Set(config(alive(), web("shop", "alive", 1, 2, 3)))
		later()
		loadIs(t, "told", h.table, 1, 40)
		tells(0)
		later()
		loadIs(t, "nothing to do", h.table, 1, 0)
		tells(math.MaxUint64)
		later()
		loadIs(t, "more than can be", h.table, 1, math.MaxUint32-1)
		tells(7)
		later()
		h.breaks(server(1), "refused")
		later()
		loadIs(t, "told by one that is down", h.table, 1, 7)
		next := startOn(t, h.table, 0) // mgmt starts again
		next.Set(config(alive(), web("shop", "alive", 1)))
		loadIs(t, "after a restart", h.table, 1, 7)
		next.Set(config(alive(), web("shop", "", 1)))
		loadIs(t, "nobody asks any more", h.table, 1, unknown)
	})
}

func TestBackendLoadComesFromALocalFarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := toldOf(t, newHealth(t))
		at := func(name string, id uint32, port uint16) farm.Farm {
			f := web(name, "", id+10)
			f.ID, f.VIP, f.VPort = id, server(1), port
			return f
		}
		both := names("n", farm.DNSService{Port: 80}, 1, 2)
		h.Set(config(alive(), at("shop", 1, 80), at("other", 2, 81), both))
		h.LookLoads()
		loadIs(t, "nobody knows", h.table, 1, unknown)
		h.open = map[string]uint64{"shop": 12, "other": 5}
		h.LookLoads()
		loadIs(t, "its farm", h.table, 1, 12)
		loadIs(t, "no farm of ours", h.table, 2, unknown)
		h.open = map[string]uint64{"other": 5}
		h.LookLoads()
		loadIs(t, "its farm does not tell any more", h.table, 1, unknown)
		h.open = map[string]uint64{"shop": 3}
		h.LookLoads()
		h.Set(config(alive(), both))
		loadIs(t, "the farm is gone", h.table, 1, unknown)
	})
}
