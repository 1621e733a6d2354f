// Package witness detects stalls of the machine itself.
//
// The host may withdraw the CPU of a virtual machine for milliseconds, mostly when it wakes
// from idle. A few such stalls per second determine a 99th percentile under any load. A witness
// is a real-time thread that only wakes at fixed times. No process can delay it, so if it wakes
// late, its CPU was not running.
package witness

import (
	"encoding/json"
	"io"

	"github.com/sluicelb/sluice/bench/poll"
)

const (
	// every is the interval of wake-ups: short enough to see relevant stalls, long enough
	// to cost less than 1 % of the CPU.
	every = 400_000
	// late is the delay from which the CPU counts as stalled. Normal wake-ups and
	// uninterruptible sections of the kernel are well below it.
	late = 250_000
	// look is the number of wake-ups between checks of the control descriptor.
	look = 32
	// most bounds the stored stalls; further ones are only counted.
	most = 100_000
)

// Stall is a period without CPU, on the monotonic clock.
type Stall struct {
	From int64 `json:"from"` // last wake-up before it
	To   int64 `json:"to"`   // wake-up after it
}

// Testimony is the result of a witness.
type Testimony struct {
	Stalls []Stall `json:"stalls"`
	Missed int     `json:"missed,omitempty"` // number of stalls not stored
}

// Main is the process of a witness. It observes the CPU that it is pinned to until
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
