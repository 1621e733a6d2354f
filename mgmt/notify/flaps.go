package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// What was told of flapTurns times within flapWindow flaps. Then it is told of once it
// has stayed as it is for settleTime.
const (
	flapTurns  = 4
	flapWindow = 10 * time.Minute
	settleTime = 5 * time.Minute
)

// flaps is how often a backend or farm turned lately.
type flaps[S comparable] struct {
	turns [flapTurns]turn // the last ones, the oldest first
	muted bool            // nothing is told until it has settled
	is    S               // while it is muted: what it was at the last look,
	since time.Time       // and since when
}

// turn is when a state was told, and how bad it is.
type turn struct {
	at  time.Time
	bad int
}

// turned notes that a state is told, and reports whether it flaps from now on.
func (f *flaps[S]) turned(is S, bad int, now time.Time) bool {
	copy(f.turns[:], f.turns[1:])
	f.turns[flapTurns-1] = turn{now, bad}
	if oldest := f.turns[0].at; oldest.IsZero() || now.Sub(oldest) > flapWindow {
		return false
	}
	f.muted, f.is, f.since = true, is, now
	return true
}

// escalates reports whether one that flaps is worse than it was in all its turns: that is
// another story.
func (f *flaps[S]) escalates(bad int) bool {
	return f.muted && !slices.ContainsFunc(f.turns[:], func(t turn) bool { return t.bad >= bad })
}

// settled looks at one that flaps, and reports whether it does no more.
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

// flapping says of a turn that it is the last one that is told until it has settled.
func flapping(h Happening) Happening {
	if h.Severity == event.Info {
		h.Severity = event.Warning
	}
	h.Text = h.headline + fmt.Sprintf(": it turned %d times within %d minutes, and is told of again once it has stayed for %d", flapTurns, int(flapWindow.Minutes()), int(settleTime.Minutes()))
	return h
}
