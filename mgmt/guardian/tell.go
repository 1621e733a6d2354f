package guardian

import (
	"fmt"
	"maps"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// Finding is the state of one backend.
type Finding struct {
	Check string
	// Farm is the farm of this appliance with the address. If there is one, the backend has
	// its state and is not probed; Check, Needed and Next are empty.
	Farm    string
	Verdict health.State
	Since   time.Time // zero: before this process, or there is no verdict
	// Against is how many results in a row contradict the verdict. Needed is how many
	// change it.
	Against, Needed int
	// Next is the time of the next probe, zero while one is running.
	Next    time.Time
	Results []Result // the last ones, the newest first
}

// Unable returns the reason why this machine could not send the last probe, "" if it could.
func (f *Finding) Unable() string {
	if len(f.Results) == 0 || !f.Results[0].Local {
		return ""
	}
	return f.Results[0].Reason
}

// Look returns the state of a backend; is is false if it has no task.
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

// Why returns why a backend is down, or why its check cannot probe it; "" otherwise.
func (g *Guardian) Why(backend uint32) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.of[backend]
	switch {
	case t == nil:
		return g.unasked[backend]
	case t.verdict != health.Down:
		return t.inability()
	case t.ours != nil && t.why == "":
		return "was down before mgmt was started"
	case t.ours != nil:
		return t.why
	case t.why == "":
		return fmt.Sprintf("failed check %s before mgmt was started", t.check)
	}
	return fmt.Sprintf("fails check %s: %s", t.check, t.why)
}

// Moved grows when the result of Why or Awaits may change for some backend.
func (g *Guardian) Moved() uint64 { return g.moved.Load() }

// Counts returns the counts of each check in use.
func (g *Guardian) Counts() map[string]Count {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.counts)
}
