package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// prober is an engine on a machine with some ports in use.
type prober struct {
	applytest.Publisher
	taken  map[uint16]string
	absent bool
	asked  []string
}

func (p *prober) Probe(_ context.Context, f *farm.Farm) (string, bool) {
	p.asked = append(p.asked, f.Name)
	return p.taken[f.VPort], p.absent
}

func newProbed(t *testing.T, p *prober) *apply.Applier {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return apply.New(st, p, apply.WithRules(validate.Rules{}))
}

func TestATrialFindsOutWhetherAPortIsFree(t *testing.T) {
	p := &prober{taken: map[uint16]string{8080: "cannot listen on 127.0.0.1:8080: another program uses this address and port already"}}
	a := newProbed(t, p)
	try := func(edit func(*farm.Config) error) (apply.Result, error) {
		t.Helper()
		p.asked = nil
		return a.Change(apply.DryRun(t.Context()), apply.Author{Name: "ann"}, "", 0, edit)
	}
	_, err := try(add(shop("taken", 8080)))
	var refused *apply.Refused
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, `farm "taken": cannot listen on 127.0.0.1:8080`) {
		t.Errorf("a port in use: %v", err)
	}
	if r, err := try(add(shop("free", 8091))); !errors.Is(err, apply.ErrDryRun) || len(r.Warnings) != 0 {
		t.Errorf("a free port: %v, %v", r.Warnings, err)
	}
	if _, err := try(func(c *farm.Config) error {
		f := shop("stopped", 8080)
		f.Stopped = true
		return add(f)(c)
	}); !errors.Is(err, apply.ErrDryRun) || len(p.asked) != 0 {
		t.Errorf("a stopped farm: %v, probed %v", err, p.asked)
	}
	if _, err := a.Change(t.Context(), apply.Author{Name: "ann"}, "", 0, add(shop("web", 8091))); err != nil || len(p.asked) != 0 {
		t.Fatalf("a real change: %v, probed %v", err, p.asked)
	}
	if _, err := try(func(c *farm.Config) error { c.Farms[0].HTTP.Services[0].Backends[0].Port = 8092; return nil }); !errors.Is(err, apply.ErrDryRun) || len(p.asked) != 0 {
		t.Errorf("a farm that keeps its port: %v, probed %v", err, p.asked)
	}
	if _, err := try(func(c *farm.Config) error { c.Farms[0].VPort = 8080; return nil }); !errors.As(err, &refused) {
		t.Errorf("a farm that moves to a port in use: %v", err)
	}
	p.absent = true
	if r, err := try(add(shop("taken", 8080))); !errors.Is(err, apply.ErrDryRun) || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "the farm is down until one has it") {
		t.Errorf("an address this machine does not have: %v, %v", r.Warnings, err)
	}
}
