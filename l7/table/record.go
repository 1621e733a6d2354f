package table

import (
	"strings"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Recording is what a farm wants to be recorded.
type recording struct {
	Logged         bool
	Sample         uint32
	agent, referer bool
	headers        []string // in lower case
	ID             farm.RequestID
}

func newRecording(h *farm.HTTP) recording {
	r := recording{ID: h.RequestIDMode(), Logged: h.Logs, Sample: h.AccessLog.Sample}
	combined := h.AccessLog.Format == farm.LogCombined
	r.agent, r.referer = combined, combined
	for _, f := range h.AccessLog.ShownFields() {
		r.agent = r.agent || f == farm.LogAgent
		r.referer = r.referer || f == farm.LogReferer
	}
	for _, name := range h.AccessLog.Headers {
		r.headers = append(r.headers, strings.ToLower(name))
	}
	return r
}

// Fields adds what else the farm wants to know of the head.
func (rec *recording) Fields(e *accesslog.Entry, r *http1.Request) {
	watched := e.Flags.Has(accesslog.Watched)
	if i := r.Find(http1.KnownUserAgent); i >= 0 && (rec.agent || watched) {
		e.Agent(r.Value(i))
	}
	if i := r.Find(http1.KnownReferer); i >= 0 && (rec.referer || watched) {
		e.Referer(r.Value(i))
	}
	for _, name := range rec.headers {
		if i := r.Lookup(name); i >= 0 {
			e.Header(name, r.Value(i))
		}
	}
}
