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

// Record makes each loop write the records of its exchanges to its ring in the segment,
// through the writer of its position. Farms with logging and watched farms are recorded. It
// must be called before the first Publish.
func (e *Engine) Record(to *accesslog.Segment, writers []*accesslog.Writer) {
	for i, w := range e.Workers {
		w.records.Recorder = accesslog.NewRecorder(to, writers[i], i)
	}
}

// records is a worker's part.
type records struct {
	accesslog.Recorder
	free  []*accesslog.Entry
	extra []byte // field lines with the request ID of the current message

	skew, synced int64 // offset from the loop's clock to Unix time, and when it was determined
}

// wall returns Unix time from the loop's clock. The offset is renewed every second, because
// the system clock may be set.
func (r *records) wall(now int64) int64 {
	if now-r.synced >= second || r.skew == 0 {
		r.skew, r.synced = time.Now().UnixNano()-now, now
	}
	return now + r.skew
}

// put passes a record on and recycles the entry.
func (rec *records) put(e *accesslog.Entry) {
	rec.Put(e)
	rec.free = append(rec.free, e)
}

// recordQueued records the time in the queue.
func (ex *exchange) recordQueued() {
	if e := ex.entry; e != nil {
		e.Queue += ex.w.loop.Now() - ex.queued
	}
}

// recordConnect records the duration of the connect.
func (ex *exchange) recordConnect(began int64) {
	if e := ex.entry; e != nil {
		e.Connect = ex.w.loop.Now() - began
	}
}

// recordRejection counts a refusal and records its class and reason.
func (ex *exchange) recordRejection(class rejection.Class, reason string) {
	ex.w.shard.Rejections(ex.farm.ID)[class]++
	if e := ex.entry; e != nil {
		e.Rejection = uint8(class) + 1
		e.Reason(reason)
	}
}

// recordGoesOn reverts recordRejection if the exchange continues.
func (ex *exchange) recordGoesOn() {
	if e := ex.entry; e != nil {
		e.Rejection = 0
		e.Reason("")
	}
}

// recordOwn records a generated response of that many bytes.
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

// ending returns which side ended an incomplete exchange.
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

// Every class of rejections has a counter.
var _ [stats.MaxClasses - len(rejected.Names)]struct{}

// ofBackend reports whether a class is about the behaviour of backends.
func ofBackend(class rejection.Class) bool {
	return class == rejected.BadAnswer || class == rejected.CutAnswer || class == rejected.BackendTimeout
}

// recordOwn records a response without a backend. sv is nil if no service was found. class
// is the class of the refusal plus one, and reason its reason.
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
