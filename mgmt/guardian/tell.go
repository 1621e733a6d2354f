package guardian

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// Finding is what is known of one backend.
type Finding struct {
	Check string
	// Farm is the one of this appliance that has the address, where the backend is as
	// that one is and is not asked; Check, Needed and Next mean nothing then.
	Farm    string
	Verdict health.State
	Since   time.Time // zero: since before this process, or nothing was found yet
	// Against is how many results in a row contradict the verdict, Needed how many turn it.
	Against, Needed int
	// Next is when it is asked again, zero while it is asked.
	Next    time.Time
	Results []Result // the last ones, the newest first
}

// Unable says why this machine could not ask the last time, "" when it could.
func (f *Finding) Unable() string {
	if len(f.Results) == 0 || !f.Results[0].Local {
		return ""
	}
	return f.Results[0].Reason
}

// Look tells what is known of a backend; is is false when it is not asked.
func (g *Guardian) Look(backend uint32) (f Finding, is bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[backend]
	if t == nil {
		return f, false
	}
	f = Finding{Check: t.check, Verdict: t.verdict, Since: t.since, Against: t.against, Results: t.results.newest()}
	f.Needed = t.needed(t.verdict != health.Up, &t.settings)
	if !t.running {
		f.Next = t.due
	}
	if t.ours != nil {
		f.Farm = t.ours[0].Name
	}
	return f, true
}

// Why says why a backend is down, or why its check cannot ask it; "" otherwise.
func (g *Guardian) Why(backend uint32) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[backend]
	switch {
	case t == nil:
		return g.unable[backend]
	case t.verdict != health.Down:
		return t.inability()
	case t.ours != nil && t.why == "":
		return "was down before mgmt was started"
	case t.ours != nil:
		return "is at the address of a farm: " + t.why
	case t.why == "":
		return fmt.Sprintf("failed check %s before mgmt was started", t.check)
	}
	return fmt.Sprintf("fails check %s: %s", t.check, t.why)
}

// Moved grows whenever Why may say something else of a backend.
func (g *Guardian) Moved() uint64 { return g.moved.Load() }

// Counts is what was counted of each check that is in use.
func (g *Guardian) Counts() map[string]Count {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts)
}
