package guardian

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// follow makes a backend follow the farms of this appliance that have its address and port,
// if there are any, so that both have the same state at once. It is for groups whose farm
// returns backends to clients by name. Such farms themselves are probed instead, since
// otherwise two could keep each other down.
func (w *wanted) follow(cfg *farm.Config, g farm.Group, b *farm.Backend, port uint16) bool {
	if port == 0 {
		return false
	}
	if w.at == nil {
		w.at = followable(cfg.Farms)
	}
	var ours []*farm.Farm
	for _, f := range w.at[b.Addr.Unmap()] {
		if f.Takes(farm.L4TCP, port) {
			own := *f // a pointer into the list would keep all of it in memory
			ours = append(ours, &own)
		}
	}
	if len(ours) == 0 {
		return false
	}
	slices.SortFunc(ours, func(a, b *farm.Farm) int { return cmp.Compare(a.ID, b.ID) })
	w.use(key{to: probe.Target{Addr: b.Addr, Port: port}}, g, b).ours = ours
	return true
}

// followable returns the farms that backends may follow, by VIP.
func followable(farms []farm.Farm) map[netip.Addr][]*farm.Farm {
	at := map[netip.Addr][]*farm.Farm{}
	for i := range farms {
		if f := &farms[i]; f.Carries() != farm.TrafficQueries {
			at[f.VIP.Unmap()] = append(at[f.VIP.Unmap()], f)
		}
	}
	return at
}

// LookFarms reads the states of the farms that backends follow. Call it often, but not
// before these states are known: at the start of mgmt all farms seem to be down.
func (g *Guardian) LookFarms() {
	cfg, ours := g.ours()
	why := make(map[uint32]string, len(ours))
	for _, f := range ours { // without lock: the state of a farm depends on the results of its checks
		if _, known := why[f.ID]; !known {
			why[f.ID] = g.downFor(f)
		}
	}
	if len(ours) == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen != cfg || g.ctx.Err() != nil {
		return
	}
	now := time.Now()
	for _, t := range g.tasks {
		if t.ours == nil {
			continue
		}
		reason := why[t.ours[0].ID]
		for _, f := range t.ours { // one farm that is up is enough; others are stopped
			if why[f.ID] == "" {
				reason = ""
			}
		}
		g.is(t, now, reason)
	}
}

// Follows reports whether LookFarms has anything to do.
func (g *Guardian) Follows() bool { return g.follows.Load() }

// LookLoads reads the number of connections of the farms that backends follow, for
// algorithms that choose by load. Call it every few seconds.
func (g *Guardian) LookLoads() {
	cfg, ours := g.ours()
	if len(ours) == 0 || g.options.Open == nil {
		return
	}
	open := g.options.Open(ours) // without lock: it may call the kernel
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen != cfg || g.ctx.Err() != nil {
		return
	}
	for _, t := range g.tasks {
		if t.ours == nil {
			continue
		}
		t.load, t.inherits = load{}, false
		for _, f := range t.ours {
			if n, known := open[f.ID]; known {
				t.load.connections += n
				t.load.known = true
			}
		}
		g.note(t, t.users)
	}
}

// ours returns the farms that backends follow.
func (g *Guardian) ours() (cfg *farm.Config, out []*farm.Farm) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tasks {
		out = append(out, t.ours...)
	}
	return g.seen, out
}

// downFor returns the reason why a farm serves no clients, "" if it does. It contains
// nothing of the farm but its status, because users of the backend may not see the farm.
func (g *Guardian) downFor(f *farm.Farm) string {
	const at = "is at the address of a farm that is "
	switch status, _ := g.options.Farm(f); {
	case f.Stopped:
		return at + "stopped"
	case status == farm.StatusDown, status == farm.StatusCritical:
		return at + string(status)
	}
	return ""
}

// is makes the state of a farm the verdict of a task. g.mu is held.
func (g *Guardian) is(t *task, now time.Time, reason string) {
	if before, any := t.results.last(); !any || before.Reason != reason {
		g.moved.Add(1)
		t.results.add(Result{At: now, Reason: reason})
	}
	was, to := t.verdict, health.Up
	if reason != "" {
		t.why, to = reason, health.Down
	}
	if was != to {
		t.turn(to, now)
		g.turned(t, now, was, reason)
	}
}
