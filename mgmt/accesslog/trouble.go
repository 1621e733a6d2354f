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
	// stallTime is how long a write may take before its target counts as one that does not
	// respond.
	stallTime = 5 * time.Second
	// settleTime is how long after its last failure a server of datagrams counts as there
	// again: nobody says of one that it came, and every other one succeeds where nobody listens.
	settleTime = time.Minute
)

// trouble is what is wrong with the target of a sink.
type trouble struct {
	mu      sync.Mutex
	to      string
	reason  string
	failed  time.Time // the last time
	works   bool      // the last write succeeded
	writing time.Time // since when; zero: no write is under way
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
	if err != nil && !errors.Is(err, syslog.ErrPaused) { // whose reason is that of before
		t.reason, t.failed = err.Error(), now
	}
}

// problem says what is wrong now, "" if nothing is known to be.
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

// Problems says which targets do not take their lines now. Any goroutine.
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
