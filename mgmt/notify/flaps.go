package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// A state that was reported flapTurns times within flapWindow is flapping. Then it is
// reported only after it has been stable for settleTime.
const (
	flapTurns  = 4
	flapWindow = 10 * time.Minute
	settleTime = 5 * time.Minute
)

// flaps records the recent changes of a backend or farm.
type flaps[S comparable] struct {
	turns [flapTurns]turn // the last changes, oldest first
	muted bool            // no reports until it has settled
	is    S               // while muted: the state at the last look
	since time.Time       // and its start
}

// turn is a reported state: its time and severity.
type turn struct {
	at  time.Time
	bad int
}

// turned records a reported state, and reports whether it is flapping from now on.
func (f *flaps[S]) turned(is S, bad int, now time.Time) bool {
	copy(f.turns[:], f.turns[1:])
	f.turns[flapTurns-1] = turn{now, bad}
	if oldest := f.turns[0].at; oldest.IsZero() || now.Sub(oldest) > flapWindow {
		return false
	}
	f.muted, f.is, f.since = true, is, now
	return true
}

// escalates reports whether a flapping state is worse than all recent ones, which is a new
// incident.
func (f *flaps[S]) escalates(bad int) bool {
	return f.muted && !slices.ContainsFunc(f.turns[:], func(t turn) bool { return t.bad >= bad })
}

// settled examines a flapping state, and reports whether it has settled.
func (f *flaps[S]) settled(is S, now time.Time) bool {
	if is != f.is || now.Before(f.since) {
		f.is, f.since = is, now
	}
	if now.Sub(f.since) < settleTime {
		return false
	}
	*f = flaps[S]{since: f.since}
	return true
}

// flapping marks an event as the last one reported before the state settles.
func flapping(h Happening) Happening {
	if h.Severity == event.Info {
		h.Severity = event.Warning
	}
	h.Text = h.headline + fmt.Sprintf(": it turned %d times within %d minutes, and is told of again once it has stayed for %d", flapTurns, int(flapWindow.Minutes()), int(settleTime.Minutes()))
	return h
}
