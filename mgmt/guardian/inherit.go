package guardian

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// outage is the verdict of a backend that was down when its task ended, because its farm was
// stopped, its maintenance began, or its check or the way to it changed.
type outage struct {
	why   string
	since time.Time
}

// beforeChange ends the reason of an inherited verdict.
const beforeChange = " (before a change of the configuration)"

// outages returns the outages of withdrawn backends: of their last task, and those that
// nobody could see the end of, since they have had no task since then.
func (g *Guardian) outages(withdrawn map[uint32]place) map[uint32]outage {
	out := map[uint32]outage{}
	for id, p := range withdrawn {
		if before, is := g.resting[id]; is {
			out[id] = before
			delete(g.resting, id)
		}
		if p.task != nil && p.verdict == health.Down {
			out[id] = outage{strings.TrimSuffix(p.why, beforeChange), p.since}
		}
	}
	return out
}

// keepOutages keeps the outages of backends that have a check, but no clients.
func (g *Guardian) keepOutages(outages map[uint32]outage, idle map[uint32]bool) {
	for id, o := range outages {
		if idle[id] {
			g.resting[id] = o
		}
	}
}

// inherit makes a task without a verdict provisionally down if one of its new users was. As
// after a restart of the appliance, the first result decides. A verdict applies to all users.
// Therefore a task keeps its state if it has other users, or users that were not down. It
// also does while this machine cannot ask, since the first result may then take long.
func (t *task) inherit(users []user, withdrawn map[uint32]place, outages map[uint32]outage) {
	if t.verdict != health.Undefined || t.unable != "" || len(t.users) > 0 {
		return
	}
	var last outage
	found := false
	for _, u := range users {
		o, down := outages[u.id]
		if _, existed := withdrawn[u.id]; existed && !down {
			return
		}
		if down {
			last, found = o, true
		}
	}
	if !found {
		return
	}
	t.verdict, t.provisional, t.inherited, t.since = health.Down, true, true, last.since
	if last.why != "" {
		t.why = last.why + beforeChange
	}
}

// disinherit removes an inherited verdict that no result has confirmed. Without a probe of
// its own the task would keep it forever.
func (g *Guardian) disinherit(t *task) {
	if !t.inherited {
		return
	}
	g.options.Log.Warn("backend cannot be asked: it counts as usable, although it was down before a change of the configuration",
		"check", t.check, "backend", addressOf(t.to))
	t.inherited, t.why, t.judge = false, "", judge{provisional: true}
	g.turns.Add(1)
}

// Awaits reports whether a check will soon find the state of a backend, which is unknown.
func (g *Guardian) Awaits(backend uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[backend]
	return t != nil && t.verdict == health.Undefined && t.unable == ""
}
