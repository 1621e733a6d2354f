package kernel_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// ground records the farms it was prepared for.
type ground struct {
	farms    []string
	problems map[uint32]string
}

func (g *ground) Prepare(_ context.Context, farms []farm.Farm) map[uint32]string {
	g.farms = nil
	for _, f := range farms {
		g.farms = append(g.farms, f.Name)
	}
	return g.problems
}

func (g *ground) Warnings(f *farm.Farm) []string { return []string{"a firewall drops " + f.Name} }

// doubtful is a filter with a warning for every farm.
type doubtful struct{ told }

func (*doubtful) Warnings(f *farm.Farm) []string {
	return []string{"clients of " + f.Name + " are forgotten"}
}

// two returns a running farm and one that may be stopped.
func two(stopped bool) (web, other farm.Farm) {
	web = l4test.Example(nil)
	other = l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID, f.Name, f.Stopped = 8, 13, "other", stopped })
	for i := range other.L4.Backends {
		other.L4.Backends[i].ID += 10
	}
	return web, other
}

func state(t *testing.T, k *kernel.Reconciler) ctl.KernelState {
	t.Helper()
	s, err := k.Parts()[ctl.OpKernelState](t.Context(), []byte("{}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.(ctl.KernelState)
}

func TestWarningsConcernRunningFarms(t *testing.T) {
	k := kernel.New(kernel.Options{Filter: &doubtful{}, Ground: &ground{}, Connections: none{}, Log: l4test.Quiet})
	web, other := two(true)
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web, other}})
	got := state(t, k).Warnings
	if len(got) != 1 || !slices.Equal(got[web.ID], []string{"a firewall drops web", "clients of web are forgotten"}) {
		t.Errorf("warnings: %v", got)
	}
}

func TestHostProblemsConcernRunningFarms(t *testing.T) {
	g := &ground{problems: map[uint32]string{7: "no such address", 8: "nor this"}}
	k := kernel.New(kernel.Options{Filter: &told{}, Ground: g, Connections: none{}, Log: l4test.Quiet})
	web, other := two(false)
	other.L4.StopGrace = 1
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web, other}})
	other.Stopped = true
	problems := k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{web, other}})
	if len(problems) != 1 || problems[7] != "no such address" {
		t.Errorf("problems: %v", problems)
	}
	if k.Apply(t.Context(), 2, &farm.Config{Farms: []farm.Farm{web, other}}); !slices.Equal(g.farms, []string{"web", "other"}) {
		t.Errorf("while connections of a stopped farm continue, it was prepared for %v", g.farms)
	}
	g.problems = nil
	k.Age(1100 * time.Millisecond)
	k.Follow(t.Context())
	if s := state(t, k); !slices.Equal(g.farms, []string{"web"}) || len(s.Problems) != 0 {
		t.Errorf("after that it was prepared for %v, problems %v", g.farms, s.Problems)
	}
}

// A missing address is a problem within a second, until it is back.
func TestFarmsFollowTheirAddress(t *testing.T) {
	g, f := &ground{}, &told{}
	k := kernel.New(kernel.Options{Filter: f, Ground: g, Connections: none{}, Log: l4test.Quiet})
	web, _ := two(false)
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web}})
	_, times := f.now()
	for i, want := range []map[uint32]string{nil, {7: "no such address"}, {7: "no such address"}, {7: "interface down"}, nil, nil} {
		g.problems = want
		k.Age(500 * time.Millisecond)
		k.Follow(t.Context())
		if got := state(t, k).Problems; got[7] != want[7] || len(got) != len(want) {
			t.Errorf("look %d: problems %v, want %v", i, got, want)
		}
	}
	if _, n := f.now(); n != times+3 {
		t.Errorf("carried %d times for 3 changes", n-times)
	}
}

func TestCleanRemovesEverythingUntilTheNextApply(t *testing.T) {
	f := &told{}
	k := kernel.New(kernel.Options{Filter: f, Connections: none{}, Log: l4test.Quiet})
	web, _ := two(false)
	apply := func() { k.Apply(t.Context(), 3, &farm.Config{Farms: []farm.Farm{web}}) }
	apply()
	if err := k.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in, _ := f.now(); len(in.Farms) != 0 {
		t.Errorf("carried are %v", in.Farms)
	}
	apply()
	if in, _ := f.now(); len(in.Farms) != 1 {
		t.Errorf("carried are %v", in.Farms)
	}
	// Ends of earlier connections may not know that they were flushed.
	if in, _ := f.now(); !in.Flushed[web.ID] {
		t.Error("flushed connections would be adopted in mid-stream")
	}
}

// shown is a filter with rules for every farm.
type shown struct{ told }

func (*shown) Rules(context.Context, uint32) (string, error) { return "chain", nil }

func TestRulesAreShownForCarriedFarms(t *testing.T) {
	k := kernel.New(kernel.Options{Filter: &shown{}, Ground: &ground{problems: map[uint32]string{9: "no such address"}}, Connections: none{}, Log: l4test.Quiet})
	web, other := two(true)
	absent := l4test.Example(func(f *farm.Farm) { f.ID, f.L4.ID, f.Name = 9, 14, "absent" })
	k.Apply(t.Context(), 1, &farm.Config{Farms: []farm.Farm{web, other, absent}})
	for id, want := range map[uint32]string{7: "chain", 8: "", 9: "", 10: ""} {
		if got, err := k.Rules(t.Context(), id); err != nil || strings.TrimSpace(got) != want {
			t.Errorf("of farm %d: %q, %v", id, got, err)
		}
	}
}
