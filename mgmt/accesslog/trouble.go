package accesslog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/syslog"
)

const (
	// stallTime is the duration of a write after which its target counts as unresponsive.
	stallTime = 5 * time.Second
	// settleTime is the time after its last failure when a datagram server counts as working
	// again. The arrival of a datagram is not confirmed, and every other send to a closed
	// port succeeds.
	settleTime = time.Minute
)

// trouble holds the fault of a sink's target.
type trouble struct {
	mu      sync.Mutex
	to      string
	reason  string
	failed  time.Time // the last time
	works   bool      // the last write succeeded
	writing time.Time // start time; zero: no write is in progress
}

func (t *trouble) begin(now time.Time) {
	t.mu.Lock()
	t.writing = now
	t.mu.Unlock()
}

func (t *trouble) end(now time.Time, err error, to string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writing, t.to, t.works = time.Time{}, to, err == nil
	if err != nil && !errors.Is(err, syslog.ErrPaused) { // ErrPaused repeats the previous error
		t.reason, t.failed = err.Error(), now
	}
}

// problem returns the current fault, "" if none is known.
func (t *trouble) problem(now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	settled := t.works && (!strings.HasPrefix(t.to, string(syslog.UDP)+":") || now.Sub(t.failed) >= settleTime)
	switch {
	case t.reason != "" && !settled:
		return fmt.Sprintf("the access log cannot be written to %s, lines are lost: %s", t.to, t.reason)
	case !t.writing.IsZero() && now.Sub(t.writing) >= stallTime:
		return fmt.Sprintf("the access log cannot be written to %s: it has taken no lines for %s", t.to, now.Sub(t.writing).Round(time.Second))
	}
	return ""
}

// Problems returns the targets that currently do not accept lines. Any goroutine.
func (p *Pump) Problems(now time.Time) (out []string) {
	list := p.listed.Load()
	if list == nil {
		return nil
	}
	for _, s := range *list {
		if text := s.trouble.problem(now); text != "" {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// list makes the sinks known to Problems.
func (p *Pump) list() {
	list := make([]*sink, 0, len(p.sinks))
	for _, s := range p.sinks {
		list = append(list, s)
	}
	p.listed.Store(&list)
}
