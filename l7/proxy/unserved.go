package proxy

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/refused"
)

// maxNamed bounds the backends a line of the log tells of.
const maxNamed = 8

// noteUnserved notes that the exchange got no backend, and why.
func (ex *exchange) noteUnserved() {
	reason := "no backend can be used"
	if ex.w.refusals.Shows(ex.w.loop.Now(), refused.NoBackend) {
		reason = ex.unserved()
	}
	ex.note(refused.NoBackend, 503, reason)
}

// unserved says why no backend of the service was to be had: of each, as far as a
// line can hold it.
func (ex *exchange) unserved() string {
	sv := ex.service
	switch {
	case len(sv.Backends) == 0:
		return "the service has no backend"
	case ex.mayWait() && ex.queue.Len() >= sv.QueueLength:
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
		text.WriteString(" " + ex.unusable(i))
	}
	return text.String()
}

// unusable says why the exchange did not get backend i.
func (ex *exchange) unusable(i int) string {
	m := ex.service.Picker.Member(i)
	switch v := ex.service.Picker.Verdict(i, ex.Tried); {
	case v == balance.Down && m.Slot.Ejected():
		return "ejected"
	case v == balance.Down && m.Slot.Guardian() == health.Down:
		return "its probes fail"
	case v == balance.Down, v == balance.Used:
		return "could not be connected to"
	case v == balance.Eligible:
		return "was taken by others"
	default:
		return v.Why(string(ex.service.Backends[i].Mode), m.Priority, m.Limit)
	}
}
