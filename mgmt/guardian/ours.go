package guardian

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// A backend may be the address of another farm of this appliance. To ask it would say that
// the farm listens; what clients want to know is whether it has somebody who answers them,
// and that is known.

// lookEvery is how soon after a farm a backend that is the farm is found up or down.
const lookEvery = 50 * time.Millisecond

// own is a backend that is a farm.
type own struct {
	backend uint32
	at      user
	farm    *farm.Farm
}

// isOurs notes a backend that is another farm of the configuration, on that port.
func (w *wanted) isOurs(cfg *farm.Config, g farm.Group, b *farm.Backend, port uint16) bool {
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Name != g.Farm.Name && f.VIP == b.Addr && f.Takes(farm.L4TCP, port) {
			w.ours = append(w.ours, own{b.ID, user{b.ID, g.Farm.Name, g.Name()}, f})
			return true
		}
	}
	return false
}

// follow looks after these from now on. The caller holds the lock.
func (g *Guardian) follow(list []own) {
	g.ours = list
	g.look()
	if len(list) == 0 || g.watched {
		return
	}
	g.watched = true
	g.finished.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-g.ctx.Done():
				return
			case <-ticker.C:
				g.mu.Lock()
				g.look()
				g.mu.Unlock()
			}
		}
	})
}

// look writes what the farms are into the table.
func (g *Guardian) look() {
	now := time.Now()
	for i := range g.ours {
		o := &g.ours[i]
		state := g.stateOf(o.farm)
		if was := g.options.Table.Slot(o.backend).Guardian(); !g.options.Table.SetGuardian(o.backend, state, now) || was == state {
			continue
		}
		g.moved.Add(1)
		g.options.Log.Info("backend is "+state.String(), "farm", o.at.farm, "service", o.at.service, "reason", fmt.Sprintf("the farm %s is", o.farm.Name))
	}
}

// stateOf is up while the farm runs and a client of it is answered by somebody.
func (g *Guardian) stateOf(f *farm.Farm) health.State {
	if f.Stopped {
		return health.Down
	}
	for _, group := range f.Groups() {
		if group.Redirects() {
			return health.Up
		}
		for i := range group.Backends() {
			b := &group.Backends()[i]
			if b.Maintenance == farm.MaintenanceOff && b.Addr.IsValid() && g.options.Table.Slot(b.ID).Usable() {
				return health.Up
			}
		}
	}
	return health.Down
}

// whyOurs says why a backend that is a farm is down; false for others.
func (g *Guardian) whyOurs(backend uint32) (string, bool) {
	for i := range g.ours {
		if o := &g.ours[i]; o.backend == backend && g.stateOf(o.farm) == health.Down {
			return fmt.Sprintf("is the farm %s, of which no backend works", o.farm.Name), true
		}
	}
	return "", false
}
