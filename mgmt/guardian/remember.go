package guardian

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/health"
)

// Verdict is the verdict of one task, for the next run of the appliance.
type Verdict struct {
	// Task is a digest of the task's key: check, command, target and route. Commands may
	// contain passwords.
	Task string
	Down bool
	// Why is the reason of the last failure.
	Why string `json:",omitempty"`
	// Latency is in microseconds, 0 if unknown.
	Latency int64 `json:",omitempty"`
}

// maxWhy is the greatest length of a remembered reason, in bytes.
const maxWhy = 256

// digest identifies a task without its command.
func (k *key) digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %d %q %v %d", k.check, k.command, k.to.Addr, k.to.Port, k.to.Name, k.from.Source, k.from.Mark))
	return hex.EncodeToString(sum[:12])
}

// Verdicts returns the current verdicts, for Options.Remembered of the next run.
func (g *Guardian) Verdicts() []Verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]Verdict, 0, len(g.tasks))
	for _, t := range g.tasks {
		if t.verdict == health.Undefined {
			continue
		}
		v := Verdict{Task: t.digest(), Down: t.verdict == health.Down, Latency: time.Duration(t.latency).Microseconds()}
		if v.Down {
			v.Why = t.why[:min(len(t.why), maxWhy)]
		}
		out = append(out, v)
	}
	return out
}

// Turns grows when the result of Verdicts may change.
func (g *Guardian) Turns() uint64 { return g.turns.Load() }

// recall gives a task of a start the verdict of the last run. With or without it the first
// result decides, since the time in between is unknown.
func (g *Guardian) recall(t *task) {
	t.provisional = true
	v, known := g.remembered[t.digest()]
	if !known {
		return
	}
	t.verdict, t.latency = health.Up, latency(max(0, time.Duration(v.Latency))*time.Microsecond)
	if v.Down {
		t.verdict, t.why = health.Down, v.Why+" (before the restart)"
	}
}

// awaitFirst records which tasks of a start have no verdict yet, and closes g.known when
// there are none. g.mu is held.
func (g *Guardian) awaitFirst(begins bool) {
	if begins {
		for _, t := range g.tasks {
			if t.ours == nil {
				g.first = append(g.first, t)
			}
		}
	} else if g.first == nil {
		return
	}
	for len(g.first) > 0 {
		last := g.first[len(g.first)-1]
		if _, asked := last.results.last(); !asked && !last.gone && last.verdict == health.Undefined {
			return
		}
		g.first = g.first[:len(g.first)-1]
	}
	g.first = nil
	select {
	case <-g.known:
	default:
		close(g.known)
	}
}

// Known is closed when each backend probed by the first Set has a verdict, of this run or
// the last one, or cannot be probed.
func (g *Guardian) Known() <-chan struct{} { return g.known }

// Reconcile writes all verdicts, latencies and loads into the health table. Changes are
// written as they happen; this restores values that another writer overwrote. It returns
// the number of verdicts that were wrong there.
func (g *Guardian) Reconcile() (wrong int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return 0
	}
	now := time.Now()
	for _, t := range g.tasks {
		for _, u := range t.users {
			if g.options.Table.SetGuardian(u.id, t.word(), now) {
				wrong++
			}
		}
		g.note(t, t.users)
	}
	for id, reason := range g.unasked {
		g.clear(id, reason, now)
	}
	for _, id := range g.left {
		g.clear(id, "", now)
	}
	if wrong > 0 {
		g.options.Log.Warn("the health table did not have the verdicts of checks; they are written again", "backends", wrong)
	}
	return wrong
}
