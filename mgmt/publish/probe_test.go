package publish_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

func TestProbeCoversNewAddresses(t *testing.T) {
	cfg := config(a)
	b := newBench(t, cfg)
	f := &cfg.Farms[0]
	if problem, absent := b.Probe(t.Context(), f); problem != "" || absent {
		t.Errorf("a free address: %q, %v", problem, absent)
	}
	at := f.Listeners()[0].Addr.String()
	for _, c := range []struct {
		name    string
		err     error
		problem string
		absent  bool
	}{
		{"taken", &ctl.Error{Code: ctl.CodeInUse, Text: "another program"}, "another program", false},
		{"absent", &ctl.Error{Code: ctl.CodeNotLocal, Text: "no such address"}, "no such address", true},
	} {
		b.netd.mu.Lock()
		b.netd.broken[at] = c.err
		b.netd.mu.Unlock()
		if problem, absent := b.Probe(t.Context(), f); problem != c.problem || absent != c.absent {
			t.Errorf("%s: %q, %v", c.name, problem, absent)
		}
	}
	b.netd.mu.Lock()
	b.netd.away = true
	b.netd.mu.Unlock()
	if problem, _ := b.Probe(t.Context(), f); problem != "" {
		t.Errorf("without netd: got %q, want \"\"", problem)
	}
	if keys := b.netd.keys(); len(keys) != 0 {
		t.Errorf("opened %v", keys)
	}
	stopped := farm.Farm{}
	if problem, _ := b.Probe(t.Context(), &stopped); problem != "" {
		t.Errorf("a farm that listens nowhere: got %q, want \"\"", problem)
	}
}
