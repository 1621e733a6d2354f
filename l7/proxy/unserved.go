package proxy

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// noneLeft continues without an available backend.
func (ex *exchange) noneLeft() {
	ex.revival.end()
	if ex.retry.last == nil {
		if ex.queue.enter(ex) {
			return
		}
		if ex.choice.Waits(ex.service) { // the queue of its own backend is full
			ex.choice.Roams = true
			ex.record.noAttempt()
			ex.forwardTo()
			return
		}
		if ex.sending.unshaken > 0 {
			ex.failed(502)
			return
		}
		if ex.queue.late && ex.queue.lacksRoom(ex) {
			ex.queue.noteLate(ex)
		} else {
			ex.stats().NoBackend++
			ex.noteUnserved()
		}
	}
	ex.failed(503)
}

// noteUnserved logs why the exchange got no backend.
func (ex *exchange) noteUnserved() {
	reason := "no backend can be used"
	if ex.record.entry != nil || ex.w.rejections.Shows(ex.w.loop.Now(), rejected.NoBackend) {
		reason = ex.unserved()
	}
	ex.note(rejected.NoBackend, 503, reason)
}

// maxNamed bounds the backends named in a log line.
const maxNamed = 8

// unserved returns why no backend of the service was available, for each backend up to
// maxNamed.
func (ex *exchange) unserved() string {
	sv := ex.service
	switch {
	case len(sv.Backends) == 0:
		return "the service has no backend"
	case ex.queue.mayWait(ex) && ex.queue.shared.Len() >= sv.QueueLength:
		return "no backend has room, and the queue is full"
	}
	var text strings.Builder
	text.WriteString("no backend can be used: ")
	for i := range sv.Backends {
		if i == maxNamed {
			fmt.Fprintf(&text, ", and %d more", len(sv.Backends)-i)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		b := &sv.Backends[i]
		text.WriteString(b.Origin)
		if b.Alias != "" {
			text.WriteString(" " + b.Alias)
		}
		text.WriteString(" " + unusable(sv, i, ex.choice.Tried))
	}
	return text.String()
}

// unusable returns why an exchange that tried these backends did not get backend i.
func unusable(sv *table.Service, i int, tried balance.Tried) string {
	m := sv.Picker.Member(i)
	switch v := sv.Picker.Verdict(i, tried); {
	case v == balance.Down && m.Slot.Ejected():
		return "ejected"
	case v == balance.Down && m.Slot.Guardian() == health.Down:
		return "its probes fail"
	case v == balance.Down, v == balance.Used:
		return "could not be connected to"
	case v == balance.Eligible:
		return "was taken by others"
	default:
		return v.Why(string(sv.Backends[i].Mode), m.Priority, m.Limit)
	}
}
