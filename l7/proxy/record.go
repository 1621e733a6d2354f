package proxy

import (
	"bytes"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
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

// queued adds a time in the queue.
func (r *record) queued(nanos int64) {
	if e := r.entry; e != nil {
		e.Queue += nanos
	}
}

// noAttempt reverts attempt for an exchange that got no backend.
func (r *record) noAttempt() {
	if e := r.entry; e != nil {
		e.Tries--
	}
}

// connected records the duration of the connect.
func (r *record) connected(nanos int64) {
	if e := r.entry; e != nil {
		e.Connect = nanos
	}
}

// reject counts a refusal and records its class and reason.
func (r *record) reject(w *worker, f *table.Farm, class rejection.Class, reason string) {
	w.shard.Rejections(f.ID)[class]++
	if e := r.entry; e != nil {
		e.Rejection = uint8(class) + 1
		e.Reason(reason)
	}
}

// clearRejection removes the rejection from the record because the exchange continues.
func (r *record) clearRejection() {
	if e := r.entry; e != nil {
		e.Rejection = 0
		e.Reason("")
	}
}

// generated records a generated response of that many bytes.
func (r *record) generated(w *worker, f *table.Farm, status, bytes int) {
	r.status, r.own = status, true
	took := w.loop.Now() - r.began
	w.shard.FarmTimes(f.ID).FirstByte.Observe(took)
	if e := r.entry; e != nil {
		e.Flags |= accesslog.Own
		e.FirstByte = took
		e.BytesOut += uint64(bytes)
	}
}

// withID appends the request ID, if any, to field lines. The result is valid until the next
// call on the loop.
func (r *record) withID(w *worker, lines []byte) []byte {
	if len(r.id) == 0 {
		return lines
	}
	rec := &w.records
	rec.extra = table.AppendIDLine(append(rec.extra[:0], lines...), r.id)
	return rec.extra
}

// insertID inserts the request ID into a generated response, after its status line.
func (r *record) insertID(w *worker, f *table.Farm, out []byte) []byte {
	if f.Recording.ID != farm.RequestIDBoth {
		return out
	}
	at := bytes.IndexByte(out, '\n') + 1
	field := r.withID(w, nil)
	out = append(out, field...)
	copy(out[at+len(field):], out[at:len(out)-len(field)])
	copy(out[at:], field)
	return out
}

// ending returns which side ended an exchange that is not complete.
func (r *record) ending(complete bool) accesslog.Flags {
	e := r.entry
	switch {
	case complete || e.Flags&(accesslog.AbortedByClient|accesslog.AbortedByBackend) != 0:
		return 0
	case e.Rejection > uint8(rejected.BadAnswer) && ofBackend(rejection.Class(e.Rejection-1)):
		return accesslog.AbortedByBackend
	}
	return accesslog.AbortedHere
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
