package guardian

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// silent is a probe without a result.
type silent struct{}

func (silent) Run(ctx context.Context, _ probe.Network, _ probe.Target, _ probe.Say) error {
	<-ctx.Done()
	return ctx.Err()
}

// silentGuardian returns a guardian that gets no results, and its table. The command "bad"
// can be read if readable is true.
func silentGuardian(t *testing.T, readable *bool) (*Guardian, *health.Table) {
	table, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := New(ctx, Options{
		Table: table, Network: func(Route) probe.Network { return &probe.Machine{} },
		Farm: func(*farm.Farm) (farm.Status, string) { return farm.StatusUp, "" },
		Parse: func(command string) (probe.Probe, error) {
			if command == "bad" && !*readable {
				return nil, errors.New("it is nonsense")
			}
			return silent{}, nil
		},
	})
	t.Cleanup(func() { cancel(); g.Wait() })
	return g, table
}

// tasksOf describes the tasks of a guardian, and its backends without one.
func tasksOf(g *Guardian) map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[string]string{"follows": fmt.Sprint(g.follows.Load())}
	for k, t := range g.tasks {
		users := slices.Clone(t.users)
		slices.SortFunc(users, func(a, b user) int { return int(a.id) - int(b.id) })
		var ours []string
		for _, f := range t.ours {
			ours = append(ours, f.Name)
		}
		out[fmt.Sprintf("task %+v", k)] = fmt.Sprintf("%+v %+v %v", users, t.settings, ours)
	}
	for id, t := range g.of {
		out[fmt.Sprintf("backend %d", id)] = fmt.Sprintf("%+v", t.key)
	}
	for id, reason := range g.unasked {
		out[fmt.Sprintf("backend %d unasked", id)] = reason
	}
	return out
}

// changing makes random changes of a configuration.
type changing struct {
	*rand.Rand
	next uint32 // ID
}

func (c *changing) id() uint32 { c.next++; return c.next }

func (c *changing) backend() farm.Backend {
	addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(c.IntN(5))})
	b := farm.Backend{ID: c.id(), Host: addr.String(), Addr: addr, Port: uint16(80 + c.IntN(2)), Mark: uint32(c.IntN(2))}
	if c.IntN(4) == 0 {
		b.Maintenance = farm.MaintenanceDrain
	}
	return b
}

// farm returns a farm with its own settings. Half of the names follow farms.
func (c *changing) farm(id uint32) farm.Farm {
	check := []string{"", "a", "b", "bad", "none"}[c.IntN(5)]
	var list []farm.Backend
	for range 1 + c.IntN(3) {
		list = append(list, c.backend())
	}
	f := farm.Farm{ID: id, Name: fmt.Sprint("farm", id), VIP: netip.AddrFrom4([4]byte{10, 0, 0, byte(c.IntN(5))}), VPort: uint16(80 + c.IntN(2)), Stopped: c.IntN(5) == 0}
	if c.IntN(4) == 0 {
		f.Profile, f.Global = farm.ProfileGSLB, &farm.GSLB{Services: []farm.DNSService{{Name: "s", Check: check, Port: uint16(80 * c.IntN(2)), Backends: list}}}
	} else {
		f.Profile, f.HTTP = farm.ProfileHTTP, &farm.HTTP{Services: []farm.Service{{Name: "s", Check: check, Backends: list}}}
	}
	return f
}

// change returns a changed copy of a configuration, which shares the settings of the other
// farms.
func (c *changing) change(was *farm.Config) *farm.Config {
	cfg := *was
	cfg.Farms = slices.Clone(was.Farms)
	at := c.IntN(len(cfg.Farms) + 1)
	switch what := c.IntN(8); {
	case what == 0 || at == len(cfg.Farms):
		cfg.Farms = append(cfg.Farms, c.farm(c.id()))
	case what == 1:
		cfg.Farms = slices.Delete(cfg.Farms, at, at+1)
	case what == 2:
		cfg.Farms[at].Stopped = !cfg.Farms[at].Stopped
	case what == 3:
		c.Shuffle(len(cfg.Farms), func(i, k int) { cfg.Farms[i], cfg.Farms[k] = cfg.Farms[k], cfg.Farms[i] })
	case what == 4: // the backends of a farm move to a new one
		f := c.farm(c.id())
		moved := cfg.Farms[at].Groups()[0].Backends()
		f.Groups()[0].SetBackends(slices.Clone(moved))
		cfg.Farms[at] = c.farm(cfg.Farms[at].ID)
		cfg.Farms = append(cfg.Farms, f)
	case what == 5:
		cfg.Checks = slices.Clone(was.Checks)
		cfg.Checks[c.IntN(len(cfg.Checks))].Interval = farm.Seconds(1 + c.IntN(5))
	case what == 6:
		cfg.System.Aliases.Backends = []farm.Alias{{ID: "10.0.0.1", Alias: fmt.Sprint("alias", c.IntN(3))}}
	default:
		cfg.Farms[at] = c.farm(cfg.Farms[at].ID)
	}
	return &cfg
}

// counting counts the words that a guardian writes.
type counting struct {
	*health.Table
	written int
}

func (c *counting) SetGuardian(id uint32, s health.State, at time.Time) bool {
	c.written++
	return c.Table.SetGuardian(id, s, at)
}

func (c *counting) ForgetLoad(id uint32) {
	c.written++
	c.Table.ForgetLoad(id)
}

// Many farms may have the same backends, and so the same tasks.
func TestSetOfOneFarmWritesOnlyItsBackends(t *testing.T) {
	g, table := silentGuardian(t, new(bool))
	count := &counting{Table: table}
	g.options.Table = count
	check := farm.Check{Name: "a", Command: "check_tcp -H HOST -p PORT"}
	cfg := &farm.Config{Checks: []farm.Check{check}}
	one := func(id uint32, weight uint8) farm.Farm {
		list := []farm.Backend{{ID: id, Host: "10.0.0.1", Addr: netip.MustParseAddr("10.0.0.1"), Port: 80, Weight: weight}}
		return farm.Farm{ID: id, Name: fmt.Sprint("farm", id), Profile: farm.ProfileGSLB, Global: &farm.GSLB{Services: []farm.DNSService{{Name: "s", Check: "a", Backends: list}}}}
	}
	for id := range uint32(500) {
		cfg.Farms = append(cfg.Farms, one(id+1, 1))
	}
	g.Set(cfg)
	before := tasksOf(g)
	count.written = 0
	next := *cfg
	next.Farms = slices.Clone(cfg.Farms)
	next.Farms[250] = one(251, 2)
	g.Set(&next)
	if count.written == 0 || count.written > 5 {
		t.Errorf("%d words are written for one backend of 500", count.written)
	}
	if after := tasksOf(g); !maps.Equal(before, after) {
		t.Errorf("before %v\nafter %v", before, after)
	}
}

// A Set looks at changed farms only. Its tasks equal the tasks of a guardian that starts with
// the configuration.
func TestSetOfChangedFarmsEqualsTheWhole(t *testing.T) {
	for seed := range uint64(20) {
		c := &changing{Rand: rand.New(rand.NewPCG(seed, 64))}
		cfg := &farm.Config{Checks: []farm.Check{{Name: "a", Command: "ask", BackendAlias: true}, {Name: "b", Command: "ask HOST PORT"}, {Name: "bad", Command: "bad"}}}
		if seed%2 == 1 {
			cfg.Checks = cfg.Checks[:2]
		}
		for range 4 {
			cfg.Farms = append(cfg.Farms, c.farm(c.id()))
		}
		readable := false
		g, table := silentGuardian(t, &readable)
		g.Set(cfg)
		for step := range 40 {
			readable = step >= 20
			cfg = c.change(cfg)
			g.Set(cfg)
			whole, _ := silentGuardian(t, &readable)
			whole.Set(cfg)
			got, want := tasksOf(g), tasksOf(whole)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, change %d:%s", seed, step, difference(got, want))
			}
			for id := range c.next + 1 {
				reason := got[fmt.Sprintf("backend %d unasked", id)]
				if got[fmt.Sprintf("backend %d", id)] != "" {
					continue // its task writes its state
				}
				if slot := table.Slot(id); slot.Guardian() != health.Undefined || slot.Unable() != (reason != "") {
					t.Fatalf("seed %d, change %d: backend %d is %v, unable %v, reason %q", seed, step, id, slot.Guardian(), slot.Unable(), reason)
				}
			}
		}
	}
}

// difference lists the keys with different values.
func difference(got, want map[string]string) (out string) {
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if got[k] != want[k] {
			out += fmt.Sprintf("\n%s: got %q, want %q", k, got[k], want[k])
		}
	}
	return out
}

// A backend that leaves its farm with a state in the table leaves none to the next backend
// with its number.
func TestSetClearsTheStateOfRemovedBackends(t *testing.T) {
	g, table := silentGuardian(t, new(bool))
	c := &changing{Rand: rand.New(rand.NewPCG(1, 1))}
	cfg := &farm.Config{Checks: []farm.Check{{Name: "a", Command: "ask"}}}
	for range 3 {
		f := c.farm(c.id())
		f.Profile, f.Stopped, f.Global = farm.ProfileHTTP, false, nil
		b := c.backend()
		b.Maintenance = farm.MaintenanceOff
		f.HTTP = &farm.HTTP{Services: []farm.Service{{Name: "s", Check: "a", Backends: []farm.Backend{b}}}}
		cfg.Farms = append(cfg.Farms, f)
	}
	g.Set(cfg)
	id := cfg.Farms[1].HTTP.Services[0].Backends[0].ID
	g.mu.Lock()
	table.SetGuardian(id, health.Down, time.Now())
	table.Slot(id).SetLatency(5)
	g.mu.Unlock()
	next := *cfg
	next.Farms = slices.Delete(slices.Clone(cfg.Farms), 1, 2)
	g.Set(&next)
	if slot := table.Slot(id); slot.Guardian() != health.Undefined || slot.Latency() != 0 {
		t.Errorf("the backend is %v with latency %v", slot.Guardian(), slot.Latency())
	}
	table.SetGuardian(id, health.Down, time.Now())
	g.Reconcile()
	if slot := table.Slot(id); slot.Guardian() != health.Undefined {
		t.Errorf("after Reconcile the backend is %v", slot.Guardian())
	}
}
