package proxy

import (
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// Record makes every loop put records of its exchanges into its ring of the
// segment, by the writer of its position: those of farms that log, and of farms
// that somebody watches. Call it before the first Publish.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.records.Recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// records is a worker's part.
type records struct {
	accesslog.Recorder
	free  []*accesslog.Entry
	extra []byte // field lines with an id of the message at hand

	skew, synced int64 // from the loop's clock to Unix time, and when that was found
}

// wall is Unix time on the loop's clock, never a second older than the
// system's own: that may be set.
func (r *records) wall(now int64) int64 {
	if now-r.synced >= second || r.skew == 0 {
		r.skew, r.synced = time.Now().UnixNano()-now, now
	}
	return now + r.skew
}

// put hands a record over and takes the entry back.
func (rec *records) put(e *accesslog.Entry) {
	rec.Put(e)
	rec.free = append(rec.free, e)
}

// recordQueued notes how long the exchange has waited in the queue.
func (ex *exchange) recordQueued() {
	if e := ex.entry; e != nil {
		e.Queue += ex.w.loop.Now() - ex.queued
	}
}

// recordConnect notes how long the connect took that was begun then.
func (ex *exchange) recordConnect(began int64) {
	if e := ex.entry; e != nil {
		e.Connect = ex.w.loop.Now() - began
	}
}

// recordRejection counts what is refused, and notes its class and the reason.
func (ex *exchange) recordRejection(class rejection.Class, reason string) {
	ex.w.shard.Rejections(ex.farm.ID)[class]++
	if e := ex.entry; e != nil {
		e.Rejection = uint8(class) + 1
		e.Reason(reason)
	}
}

// recordGoesOn takes back recordRejection: the exchange does not end with it.
func (ex *exchange) recordGoesOn() {
	if e := ex.entry; e != nil {
		e.Rejection = 0
		e.Reason("")
	}
}

// recordOwn notes an answer of our own, of that many bytes.
func (ex *exchange) recordOwn(status, bytes int) {
	ex.status, ex.own = status, true
	took := ex.w.loop.Now() - ex.began
	ex.w.shard.FarmTimes(ex.farm.ID).FirstByte.Observe(took)
	if e := ex.entry; e != nil {
		e.Flags |= accesslog.Own
		e.FirstByte = took
		e.BytesOut += uint64(bytes)
	}
}

// ending says who ended an exchange that is not complete.
func (ex *exchange) ending(e *accesslog.Entry) (f accesslog.Flags) {
	complete := ex.own || ex.status != 0 && ex.response.done()
	if ex.phase == phaseTunnel {
		f, complete = accesslog.Tunnel, ex.clientEnded && ex.backendEnded
	}
	switch {
	case complete || e.Flags&(accesslog.AbortedByClient|accesslog.AbortedByBackend) != 0:
		return f
	case e.Rejection > uint8(rejected.BadAnswer) && ofBackend(rejection.Class(e.Rejection-1)):
		return f | accesslog.AbortedByBackend
	}
	return f | accesslog.AbortedHere
}

// All classes of rejections have a counter.
var _ [stats.MaxClasses - len(rejected.Names)]struct{}

// ofBackend reports whether a class is of what backends do.
func ofBackend(class rejection.Class) bool {
	return class == rejected.BadAnswer || class == rejected.CutAnswer || class == rejected.BackendTimeout
}

// recordOwn records an answer that is given without a backend. sv is nil when no
// service was found; class is that of what is refused, plus one, and reason says why
// it is.
func (w *worker) recordOwn(cl client.Client, f *table.Farm, sv *table.Service, class uint8, reason string, status, bytes int) {
	e := w.entry(cl.From(), f, &w.req)
	if e == nil {
		return
	}
	f.Recording.Fields(e, &w.req)
	if sv != nil {
		e.Service = sv.ID
	}
	if status/100 == 3 {
		e.Flags |= accesslog.Redirected
	}
	w.putOwn(e, class, reason, status, bytes)
}

// Answered implements client.Handler.
func (w *worker) Answered(p *client.Peer, f *table.Farm, no *rejected.Cause, bytes int) {
	if e := w.entry(p, f, nil); e != nil {
		w.putOwn(e, uint8(no.Class)+1, no.Reason, no.Status, bytes)
	}
}

func (w *worker) putOwn(e *accesslog.Entry, class uint8, reason string, status, bytes int) {
	e.Reason(reason)
	e.Flags |= accesslog.Own
	e.Status, e.BytesOut, e.Rejection = uint16(status), uint64(bytes), class
	w.records.put(e)
}
