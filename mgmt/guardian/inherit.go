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

// rest keeps the outages of backends that have no clients for now.
func (g *Guardian) rest(outages map[uint32]outage, idle map[uint32]bool) {
	for id, o := range outages {
		if idle[id] {
			g.resting[id] = o
		}
	}
}

// inherit makes a task without a verdict provisionally down if one of its new users was. As
// after a restart of the appliance, the first result decides.
func (g *Guardian) inherit(t *task, users []user, outages map[uint32]outage, now time.Time) {
	if t.verdict != health.Undefined {
		return
	}
	for _, u := range users {
		o, is := outages[u.id]
		if !is {
			continue
		}
		t.verdict, t.provisional, t.since = health.Down, true, o.since
		if o.why != "" {
			t.why = o.why + beforeChange
		}
		g.write(t, now)
		return
	}
}

// Awaits reports whether a check will soon find the state of a backend, which is unknown.
func (g *Guardian) Awaits(backend uint32) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[backend]
	return t != nil && t.verdict == health.Undefined && t.unable == ""
}
