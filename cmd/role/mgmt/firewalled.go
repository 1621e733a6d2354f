package mgmt

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/ctl"
)

// firewallLooks is the number of looks per check of firewalls, which starts programs. A
// configuration change triggers a check at the next look.
const firewallLooks = 3

// dropped asks netd about the listeners of farms; ctl.Client implements it.
type dropped func(context.Context, ctl.FarmKeys) (map[uint32][]string, error)

// warnings returns why a running farm cannot work at the moment.
func (m *manager) warnings(f *farm.Farm) []string {
	if f.InKernel() {
		return m.kernel.warnings(f.ID)
	}
	return append(m.watch.firewalled(f), m.geoip.Missing(f)...)
}

// firewalled returns the traffic of an engine farm that other firewalls certainly drop.
func (w *watch) firewalled(f *farm.Farm) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dropped[f.ID])
}

// firewalls finds the engine farms whose clients a firewall blocks. If netd cannot tell, the
// previous result stays. Loopback addresses have no remote clients and are skipped, so a
// trial appliance starts no programs.
func (w *watch) firewalls(ctx context.Context, cfg *farm.Config, ask dropped) {
	ctx, cancel := context.WithTimeout(ctx, recentTimeout)
	defer cancel()
	keys := ctl.FarmKeys{}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped || f.VIP.IsLoopback() {
			continue
		}
		for _, l := range f.Listeners() {
			keys[f.ID] = append(keys[f.ID], l.Key())
		}
	}
	now := map[uint32][]string{}
	if len(keys) > 0 {
		var err error
		if now, err = ask(ctx, keys); err != nil {
			slog.Debug("what firewalls drop is not known", "reason", err)
			return
		}
	}
	w.mu.Lock()
	before := w.dropped
	w.dropped = now
	w.mu.Unlock()
	if maps.EqualFunc(before, now, slices.Equal) {
		return
	}
	w.moved.Add(1)
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		switch is, was := now[f.ID], before[f.ID]; {
		case len(is) > 0 && !slices.Equal(is, was):
			slog.Warn("a firewall keeps clients from the farm", "farm", f.Name, "reason", strings.Join(is, "; "))
		case len(is) == 0 && len(was) > 0 && !f.Stopped:
			slog.Info("no firewall keeps clients from the farm any more", "farm", f.Name)
		}
	}
}
