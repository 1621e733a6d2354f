package guardian

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// Set sets the configuration, which determines the tasks. A task that was needed before
// continues, with the new settings of its check. Only the farms that changed are looked at.
// The first Set takes over the content of the health table, which an earlier guardian wrote.
func (g *Guardian) Set(cfg *farm.Config) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cfg == g.seen || g.ctx.Err() != nil {
		return
	}
	first := g.seen == nil
	was, is, all := g.apart(cfg)
	g.seen, g.broken = cfg, false
	now := time.Now()
	before, tasks := g.withdraw(was)
	outages := g.outages(before)
	wanted := wantedBy(cfg, is, g.options.Farm != nil)
	g.spread(now, g.use(&wanted, before, outages, now, first), first)
	g.endUnused(tasks)
	g.leave(before, wanted.unasked, now)
	g.keepOutages(outages, wanted.idle)
	if all || g.reasonsChanged(before, &wanted) {
		g.moved.Add(1)
	}
	g.turns.Add(1)
	g.awaitFirst(first)
	if first && g.options.Resumed != nil {
		g.options.Resumed(cfg)
	}
	g.poke()
}

// apart returns the farms of the previous configuration whose tasks may change, and the farms
// of cfg whose tasks replace them. If that is every farm, all is true. Groups that may follow
// other farms depend on changed farms at the addresses of their backends.
func (g *Guardian) apart(cfg *farm.Config) (was, is []farm.Farm, all bool) {
	if g.seen == nil {
		return nil, cfg.Farms, true
	}
	before := g.seen
	if g.broken || !slices.Equal(before.Checks, cfg.Checks) || !slices.Equal(before.System.Aliases.Backends, cfg.System.Aliases.Backends) {
		return before.Farms, cfg.Farms, true
	}
	at := farm.Align(before.Farms, cfg.Farms)
	for i, k := range at {
		if k < 0 {
			is = append(is, cfg.Farms[i])
		}
	}
	for _, k := range farm.Gone(before.Farms, at) {
		was = append(was, before.Farms[k])
	}
	if moved := followable(slices.Concat(was, is)); len(moved) > 0 {
		for i, k := range at {
			if k >= 0 && mayFollow(&cfg.Farms[i], moved) {
				was, is = append(was, before.Farms[k]), append(is, cfg.Farms[i])
			}
		}
	}
	return was, is, false
}

// mayFollow reports whether a farm returns backends by name that have the address of some
// farm in at.
func mayFollow(f *farm.Farm, at map[netip.Addr][]*farm.Farm) bool {
	if f.Carries() != farm.TrafficQueries {
		return false
	}
	for _, g := range f.Groups() {
		if slices.ContainsFunc(g.Backends(), func(b farm.Backend) bool { return at[b.Addr.Unmap()] != nil }) {
			return true
		}
	}
	return false
}

// place is the task of a backend or, without one, the reason why a linked check has none.
type place struct {
	*task
	unable string
}

// withdraw removes the backends of farms from their tasks. It returns the place of each, by
// ID, and the tasks.
func (g *Guardian) withdraw(farms []farm.Farm) (places map[uint32]place, tasks map[*task]bool) {
	places, tasks = map[uint32]place{}, map[*task]bool{}
	for i := range farms {
		for _, group := range farms[i].Groups() {
			for _, b := range group.Backends() {
				t := g.of[b.ID]
				if places[b.ID] = (place{t, g.unasked[b.ID]}); t != nil {
					tasks[t] = true
				}
				delete(g.of, b.ID)
				delete(g.unasked, b.ID)
			}
		}
	}
	var gone farm.IDSet // of users, of which a task may have thousands; each has one task
	for id := range places {
		gone.Add(id)
	}
	for t := range tasks {
		t.users = slices.DeleteFunc(t.users, func(u user) bool { return gone.Take(u.id) })
	}
	return places, tasks
}

// reasonsChanged reports whether the result of Why may differ for some backend that was
// withdrawn or is wanted.
func (g *Guardian) reasonsChanged(before map[uint32]place, wanted *wanted) bool {
	for id, was := range before {
		if was != (place{g.of[id], g.unasked[id]}) {
			return true
		}
	}
	for id, reason := range wanted.unasked {
		if _, had := before[id]; !had && reason != "" {
			return true
		}
	}
	for _, w := range wanted.tasks {
		for _, u := range w.users {
			if _, had := before[u.id]; !had {
				return true
			}
		}
	}
	return false
}

// use adds the wanted users to tasks, and returns the tasks it made for them.
func (g *Guardian) use(
	wanted *wanted, withdrawn map[uint32]place, outages map[uint32]outage, now time.Time, first bool,
) (fresh []*task) {
	for k, w := range wanted.tasks {
		t := g.tasks[k]
		if t == nil {
			var err error
			if t, err = g.begin(k, w, first); err != nil {
				g.broken = true // all users have to be added once it can be read
				for _, u := range w.users {
					wanted.unasked[u.id] = fmt.Sprintf("cannot be asked: the command of check %s cannot be read: %v", k.check, err)
				}
				continue
			}
			fresh = append(fresh, t)
		}
		t.inherit(w.users, withdrawn, outages)
		g.keep(t, w, now)
	}
	return fresh
}

// begin makes a task. The error is the reason why its command cannot be read.
func (g *Guardian) begin(k key, w *wantedTask, first bool) (*task, error) {
	t := &task{key: k, at: -1, soon: true, inherits: first}
	if w.ours == nil {
		p, err := g.options.Parse(k.command)
		if err != nil {
			g.options.Log.Warn("backends are not asked", "check", k.check, "reason", err)
			return nil, err
		}
		t.probe = p
	}
	if first || w.ours != nil {
		for _, u := range w.users {
			slot := g.options.Table.Slot(u.id)
			t.verdict = max(t.verdict, slot.Guardian())
			if slot.Unable() {
				t.unable = "could not be asked before mgmt was started"
			}
		}
		t.latency = remembered(g.options.Table, w.users)
	}
	if first && t.verdict == health.Undefined {
		g.recall(t)
	}
	if w.ours != nil {
		t.latency = here
		g.follow(1)
	}
	g.tasks[k] = t
	return t, nil
}

// keep adds users to a task, and updates its settings.
func (g *Guardian) keep(t *task, w *wantedTask, now time.Time) {
	if sooner := interval(&w.settings) < interval(&t.settings); sooner && t.at >= 0 && !t.due.IsZero() {
		if due := now.Add(interval(&w.settings)); due.Before(t.due) {
			g.waiting.drop(t)
			t.due = due
			g.waiting.put(t)
		}
	}
	t.users, t.settings, t.ours = append(t.users, w.users...), w.settings, w.ours
	for _, u := range w.users { // the others have it
		g.of[u.id] = t
		g.options.Table.SetGuardian(u.id, t.word(), now)
	}
	g.note(t, w.users)
}

// spread sets the time of new tasks: apart from each other, within one interval.
func (g *Guardian) spread(now time.Time, fresh []*task, first bool) {
	distance := apart
	if first {
		distance = apartAtStart
	}
	for _, t := range fresh {
		if t.ours == nil {
			distance := distance
			if t.verdict == health.Down {
				distance = apartAtStart
			}
			within := min(interval(&t.settings), time.Duration(len(fresh))*distance)
			t.due = now.Add(rand.N(within))
			g.waiting.put(t)
		}
	}
}

// endUnused ends the tasks without a user, and removes the counts of checks without a task.
func (g *Guardian) endUnused(tasks map[*task]bool) {
	ended := false
	for t := range tasks {
		if len(t.users) == 0 {
			g.end(t)
			ended = true
		}
	}
	if ended {
		g.forget()
	}
}

// leave sets the new backends without a task, and which of the withdrawn ones are gone: their
// numbers may be reused for other backends.
func (g *Guardian) leave(withdrawn map[uint32]place, unasked map[uint32]string, now time.Time) {
	g.left = g.left[:0]
	for id := range withdrawn {
		if _, is := unasked[id]; !is && g.of[id] == nil {
			g.left = append(g.left, id)
			g.clear(id, "", now)
		}
	}
	for id, reason := range unasked {
		g.unasked[id] = reason
		g.clear(id, reason, now)
	}
}

// clear writes that the state of a backend without a task is unknown or, with a reason, that
// no state is possible.
func (g *Guardian) clear(id uint32, reason string, now time.Time) {
	word := health.Undefined
	if reason != "" {
		word = health.Unable
	}
	g.options.Table.SetGuardian(id, word, now)
	g.options.Table.Slot(id).SetLatency(0)
	g.options.Table.ForgetLoad(id)
}

// end removes a task. The result of a running probe is ignored.
func (g *Guardian) end(t *task) {
	t.gone = true
	g.waiting.drop(t)
	g.ready.drop(t)
	delete(g.tasks, t.key)
	if t.ours != nil {
		g.follow(-1)
	}
}

// follow changes the number of tasks that follow farms.
func (g *Guardian) follow(more int) {
	g.following += more
	g.follows.Store(g.following > 0)
}

// forget removes the counts of checks that no task uses any longer.
func (g *Guardian) forget() {
	used := map[string]bool{}
	for k := range g.tasks {
		used[k.check] = true
	}
	for name := range g.counts {
		if !used[name] {
			delete(g.counts, name)
		}
	}
}
