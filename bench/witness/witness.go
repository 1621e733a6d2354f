// Package witness tells when the machine itself stood still.
//
// A virtual machine's CPU may be taken away for milliseconds by its host, most
// of all when it wakes from idling. A few such stalls in a second decide a
// 99th percentile, whatever is being measured. A witness is a thread of
// real-time priority that does nothing but wake at fixed times: no process can
// keep it waiting, so when it wakes late its CPU was not there.
package witness

import (
	"encoding/json"
	"io"

	"github.com/sluicelb/sluice/bench/poll"
)

const (
	// every is how often a witness wakes: often enough to see what matters to
	// a request, seldom enough to cost less than a hundredth of its CPU.
	every = 400_000
	// late is from which lateness on the CPU counts as not there. Waking takes
	// well below it, and so do the stretches a kernel cannot be interrupted in.
	late = 250_000
	// look is how many wakes pass between two looks at the control descriptor.
	look = 32
	// most bounds the memory of a witness; further stalls are only counted.
	most = 100_000
)

// Stall is a time the CPU was not there, on the kernel's monotonic clock.
type Stall struct {
	From int64 `json:"from"` // the last moment it was seen
	To   int64 `json:"to"`   // when it was back
}

// Testimony is what a witness saw.
type Testimony struct {
	Stalls []Stall `json:"stalls"`
	Missed int     `json:"missed,omitempty"` // stalls beyond those listed
}

// Main is the process of a witness: it watches the CPU it is pinned to until
// control is readable or ends, and writes a Testimony.
func Main(control int, out io.Writer) error {
	if err := poll.Realtime(); err != nil {
		return err
	}
	seen := Testimony{Stalls: make([]Stall, 0, 1024)}
	last := poll.Monotonic()
	for n := 0; n%look != 0 || !poll.Readable(control); n++ {
		due := last + every
		poll.SleepUntil(due)
		now := poll.Monotonic()
		if now-due > late {
			seen.add(Stall{From: last, To: now})
		}
		last = now
	}
	return json.NewEncoder(out).Encode(seen)
}

func (t *Testimony) add(s Stall) {
	if len(t.Stalls) < most {
		t.Stalls = append(t.Stalls, s)
		return
	}
	t.Missed++
}
