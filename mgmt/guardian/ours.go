package guardian

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// follow makes a backend of a group that names others to clients follow the farms of
// this appliance that have its address and port, if there are any: there is one truth of
// both, at once. Farms that name others themselves are asked, or two could keep each
// other down.
func (w *wanted) follow(cfg *farm.Config, g farm.Group, b *farm.Backend, port uint16) bool {
	if port == 0 {
		return false
	}
	var ours []*farm.Farm
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.VIP.Unmap() == b.Addr.Unmap() && f.Carries() != farm.TrafficQueries && f.Takes(farm.L4TCP, port) {
			ours = append(ours, f)
		}
	}
	if len(ours) == 0 {
		return false
	}
	w.use(key{to: probe.Target{Addr: b.Addr, Port: port}}, g, b).ours = ours
	return true
}

// LookFarms looks how the farms are that backends follow. It is to be called often, but
// not before it is known how farms are: at the start of mgmt they only seem to be down.
func (g *Guardian) LookFarms() {
	cfg, ours := g.ours()
	why := make(map[*farm.Farm]string, len(ours))
	for _, f := range ours { // not locked: how a farm is depends on what its checks found
		if _, known := why[f]; !known {
			why[f] = g.downFor(f)
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
		reason := why[t.ours[0]]
		for _, f := range t.ours { // one that is up is enough: others are stopped
			if why[f] == "" {
				reason = ""
			}
		}
		g.is(t, now, reason)
	}
}

// Follows reports whether there is anything for LookFarms to look at.
func (g *Guardian) Follows() bool { return g.follows.Load() }

// LookLoads looks how many connections the farms have that backends follow, for who
// chooses by it. It is to be called every few seconds.
func (g *Guardian) LookLoads() {
	cfg, ours := g.ours()
	if len(ours) == 0 || g.options.Open == nil {
		return
	}
	open := g.options.Open(ours) // not locked: the kernel may be asked
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
		g.note(t)
	}
}

// ours lists the farms that backends follow.
func (g *Guardian) ours() (cfg *farm.Config, out []*farm.Farm) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.tasks {
		out = append(out, t.ours...)
	}
	return g.seen, out
}

// downFor says why no client of a farm is served, "" when they are.
func (g *Guardian) downFor(f *farm.Farm) string {
	switch status, why := g.options.Farm(f); {
	case f.Stopped:
		return fmt.Sprintf("farm %s is stopped", f.Name)
	case status == farm.StatusDown, status == farm.StatusCritical:
		return fmt.Sprintf("farm %s is %s: %s", f.Name, status, why)
	}
	return ""
}

// is makes what is known of a farm the verdict of a task. g.mu is held.
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
