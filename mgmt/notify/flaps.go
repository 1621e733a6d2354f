package notify

import (
	"fmt"
	"time"

	"github.com/sluicelb/sluice/mgmt/event"
)

// A backend whose state was told flapTurns times within flapWindow flaps. Then it is told
// of once it has stayed as it is for settleTime.
const (
	flapTurns  = 4
	flapWindow = 10 * time.Minute
	settleTime = 5 * time.Minute
)

// flaps is how often a backend turned lately.
type flaps struct {
	turns [flapTurns]time.Time // the last ones, the oldest first
	muted bool                 // nothing is told until it has settled
	down  bool                 // while it is muted: what it was at the last look,
	since time.Time            // and since when
}

// turned notes that a state is told, and reports whether from now on the backend flaps.
func (f *flaps) turned(down bool, now time.Time) bool {
	copy(f.turns[:], f.turns[1:])
	f.turns[flapTurns-1] = now
	if oldest := f.turns[0]; oldest.IsZero() || now.Sub(oldest) > flapWindow {
		return false
	}
	f.muted, f.down, f.since = true, down, now
	return true
}

// settled looks at one that flaps, and reports whether it does no more.
func (f *flaps) settled(down bool, now time.Time) bool {
	if down != f.down {
		f.down, f.since = down, now
	}
	if now.Sub(f.since) < settleTime {
		return false
	}
	*f = flaps{since: f.since}
	return true
}

// flapping says of a turn that it is the last one that is told until the backend has settled.
func flapping(h Happening) Happening {
	h.Severity = event.Warning
	h.why = fmt.Sprintf("turned %d times within %d minutes, and is told of again once it has stayed for %d", flapTurns, int(flapWindow.Minutes()), int(settleTime.Minutes()))
	return h
}
