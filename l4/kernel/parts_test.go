package kernel_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/l4/kernel"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// counting is a filter and its connections, with given counters.
type counting struct {
	told
	none
	counters, connections error
}

func (c *counting) Counters(context.Context) (map[uint32]ctl.KernelCount, error) {
	return map[uint32]ctl.KernelCount{1: {Connections: 5, PacketsIn: 3, BytesIn: 300, PacketsOut: 2, BytesOut: 200}, 2: {Connections: 1, BytesOut: 10}, 9: {Connections: 7}}, c.counters
}

func (c *counting) Count(context.Context) (map[uint32]conntrack.Counts, error) {
	return map[uint32]conntrack.Counts{0x5c000001: {Total: 4, Established: 2, Pending: 1}, 0x5c000002: {Total: 1, Pending: 1}}, c.connections
}

func (*counting) Check(context.Context, *rules.Input) map[uint32]string {
	return map[uint32]string{7: "no such helper"}
}

func (*counting) Objects(context.Context) ([]ctl.KernelObject, error) {
	return []ctl.KernelObject{{Kind: "table", Name: "inet sluice"}}, nil
}

func TestStateReportsCarriedFarmsAndCounters(t *testing.T) {
	c := &counting{}
	k := kernel.New(kernel.Options{Filter: c, Connections: c, Ground: &ground{problems: map[uint32]string{8: "no such address"}}, Log: l4test.Quiet})
	parts := k.Parts()
	web, other := two(false)
	publish := func(generation uint64) *os.File {
		f, err := snapshot.Publish(generation, &farm.Config{Farms: []farm.Farm{web, other}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	ask := func(op ctl.Op, want any, files ...*os.File) {
		t.Helper()
		if got, err := parts[op](t.Context(), []byte("{}"), files); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", op, got, err, want)
		}
	}
	problems := map[uint32]string{8: "no such address"}
	ask(ctl.OpKernelApply, ctl.KernelState{Generation: 5, Problems: problems}, publish(5))
	ask(ctl.OpKernelCheck, ctl.KernelState{Generation: 6, Problems: map[uint32]string{7: "no such helper"}}, publish(6))
	if k.Generation() != 5 {
		t.Errorf("a check changed the generation to %d", k.Generation())
	}
	ask(ctl.OpKernelState, ctl.KernelState{Generation: 5, Problems: problems,
		Warnings: map[uint32][]string{7: {"a firewall drops web"}, 8: {"a firewall drops other"}}})
	ask(ctl.OpKernelRules, "")
	ask(ctl.OpKernelObjects, []ctl.KernelObject{{Kind: "table", Name: "inet sluice"}})
	one, next := ctl.KernelCount{Connections: 5, Established: 2, Pending: 1, PacketsIn: 3, BytesIn: 300, PacketsOut: 2, BytesOut: 200}, ctl.KernelCount{Connections: 1, Pending: 1, BytesOut: 10}
	sum := ctl.KernelCount{Connections: 6, Established: 2, Pending: 2, PacketsIn: 3, BytesIn: 300, PacketsOut: 2, BytesOut: 210}
	ask(ctl.OpKernelTraffic, ctl.KernelTraffic{Farms: map[uint32]ctl.KernelCount{7: sum, 8: {}}, Backends: map[uint32]ctl.KernelCount{1: one, 2: next, 11: {}, 12: {}}})
	for _, broken := range []*error{&c.counters, &c.connections} {
		*broken = errors.New("broken")
		if _, err := k.Traffic(t.Context()); !errors.Is(err, *broken) {
			t.Errorf("counters that cannot be read: %v", err)
		}
		*broken = nil
	}
	for name, files := range map[string][]*os.File{"no snapshot": nil, "two": {publish(1), publish(2)}, "nonsense": {learned(t, "nonsense")}} {
		if got, err := parts[ctl.OpKernelApply](t.Context(), []byte("{}"), files); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, err := parts[ctl.OpKernelApply](t.Context(), []byte(`{"more":1}`), []*os.File{publish(7)}); err == nil || k.Generation() != 5 {
		t.Errorf("more than a snapshot: %v, generation %d", got, k.Generation())
	}
}

// Snapshots may have only the differences from the one before. A new netd refuses them.
func TestIncrementalSnapshotsAreAccepted(t *testing.T) {
	renew := func() ctl.Parts {
		return kernel.New(kernel.Options{Filter: &counting{}, Log: l4test.Quiet}).Parts()
	}
	parts, again := renew(), renew()
	var w snapshot.Writer
	web, other := two(false)
	ask := func(parts ctl.Parts, op ctl.Op, generation, base uint64) error {
		t.Helper()
		f, err := w.Publish(generation, &farm.Config{Farms: []farm.Farm{web, other}}, base)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		state, err := parts[op](t.Context(), []byte("{}"), []*os.File{f})
		if err == nil && state.(ctl.KernelState).Generation != generation {
			t.Errorf("generation %d: %+v", generation, state)
		}
		return err
	}
	if err := ask(parts, ctl.OpKernelApply, 1, 0); err != nil {
		t.Fatal(err)
	}
	other.Stopped = true
	if err := ask(parts, ctl.OpKernelCheck, 1, 1); err != nil {
		t.Error(err)
	}
	if err := ask(parts, ctl.OpKernelApply, 2, 1); err != nil {
		t.Error(err)
	}
	var refused *ctl.Error
	if err := ask(again, ctl.OpKernelApply, 3, 2); !errors.As(err, &refused) {
		t.Errorf("a netd without the farms before: %v", err)
	}
}
