package table

import (
	"strings"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Recording holds the logging settings of a farm.
type Recording struct {
	Logged         bool   // exchanges are logged
	Sample         uint32 // one of every Sample
	agent, referer bool
	headers        []string       // in lower case
	ID             farm.RequestID // who gets the request ID
}

func newRecording(h *farm.HTTP) Recording {
	r := Recording{ID: h.RequestIDMode(), Logged: h.Logs, Sample: h.AccessLog.Sample}
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

// Fields adds the configured request fields to the entry.
func (rec *Recording) Fields(e *accesslog.Entry, r *http1.Request) {
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

// Field of the request ID, and its name for lookups.
const (
	requestIDField = "X-Request-Id: "
	requestIDName  = "x-request-id"
)

// RemoveIDs removes request IDs from a head.
func RemoveIDs(h *http1.Head) {
	for i := h.Lookup(requestIDName); i >= 0; i = h.Lookup(requestIDName) {
		if !h.Remove(i) {
			return
		}
	}
}

// AppendIDLine appends the line with a request ID.
func AppendIDLine(dst, id []byte) []byte {
	return append(append(append(dst, requestIDField...), id...), "\r\n"...)
}

// AppendID appends the request ID of a trusted peer, or a new one.
func (q *Query) AppendID(dst []byte, ids *accesslog.IDs) []byte {
	if f, r := q.Farm, q.Req; len(f.Trusted) > 0 {
		if i := r.Lookup(requestIDName); i >= 0 && accesslog.ValidID(r.Value(i)) && Trusts(f.Trusted, q.Conn.Peer().Addr()) {
			return append(dst, r.Value(i)...)
		}
	}
	return ids.Append(dst)
}
