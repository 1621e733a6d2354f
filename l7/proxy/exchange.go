package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// exchange is one request and its response, from the complete request head to the last byte
// of the response.
type exchange struct {
	w       *worker
	client  client.Client // nil between uses
	peer    *client.Peer  // its connection
	farm    *table.Farm   // in the table the exchange began with
	service *table.Service
	backend *table.Backend
	up      backend.Transport // nil before a backend was found and after its release
	phase   phase

	verb http1.Verb
	host []byte // of the request; its array is reused

	oldClient   bool // HTTP/1.0: gets no chunks and no 1xx
	keepClient  bool // the client connection may continue
	keepBackend bool // the backend connection may continue
	binds       bool // a login reserved the backend connection for the client

	// Parts in the order of their first use. clear must know each of them.
	record   record
	upgrade  upgrade
	encoding encoding
	outgoing table.Outgoing
	login    loginWait
	choice   table.Choice
	queue    queueWait
	revival  revival
	load     load
	saved    savedRequest
	sending  sending
	head     responseHead
	retry    retries
	request  body
	response body
}

// load is the exchange's share of its backend's load, beside the reservation of the picker.
type load struct {
	counted bool // counted as in flight
	waiting bool // counted as awaiting the response
}

// await counts the exchange as awaiting its response, for the algorithm that compares these
// counts.
func (l *load) await(sv *table.Service, b *table.Backend) {
	if sv.Tracked {
		l.waiting = true
		b.Load.Pending.Add(1)
	}
}

// arrived reverts await.
func (l *load) arrived(b *table.Backend) {
	if l.waiting {
		l.waiting = false
		b.Load.Pending.Add(-1)
	}
}

// phase is the state of an exchange on its backend side.
type phase uint8

const (
	phaseConnect phase = iota // the connection is being opened
	phaseHead                 // the response head is awaited
	phaseBody                 // the response body flows
)

// stats returns the farm's counters of this loop.
func (ex *exchange) stats() *stats.Farm { return ex.w.shard.Farm(ex.farm.ID) }

// backendStats returns the chosen backend's counters of this loop.
func (ex *exchange) backendStats() *stats.Backend { return ex.w.shard.Backend(ex.backend.ID) }

// body tracks the framing of one message body.
type body struct {
	kind    http1.Body
	left    int64 // remaining bytes of a body with known length
	chunked http1.Chunked
	bare    bool // raw, with a separate end: see end
}

// clear resets the body.
func (b *body) clear() {
	if b.bare || b.kind == http1.BodyChunked {
		b.chunked.Trim()
	}
	b.kind, b.left, b.bare = http1.BodyNone, 0, false
}

// start begins the body of a message with the given framing. trailers means that the
// receiver gets chunks, and thus trailers.
func (b *body) start(kind http1.Body, h *http1.Head, trailers bool) {
	b.kind, b.left, b.bare = kind, 0, false
	switch kind {
	case http1.BodyLength:
		b.left = h.ContentLength
	case http1.BodyChunked:
		b.chunked.Reset(trailers)
	}
}

// startAnswer begins the body of a response.
func (b *body) startAnswer(kind http1.Body, h *http1.Head, trailers bool) {
	b.start(kind, h, trailers)
	if kind == http1.BodyChunked {
		b.chunked.FromBackend(h.Allowed())
	}
}

// take processes the next bytes: p[:in] belong to the body, and p[:out], possibly fewer,
// must be forwarded. unchunk removes chunk framing.
func (b *body) take(p []byte, unchunk bool) (in, out int, err error) {
	if b.bare && b.kind == http1.BodyChunked {
		return len(p), len(p), nil
	}
	switch b.kind {
	case http1.BodyLength:
		n := int(min(int64(len(p)), b.left))
		b.left -= int64(n)
		return n, n, nil
	case http1.BodyChunked:
		if unchunk {
			return b.chunked.Decode(p)
		}
		return b.chunked.Scan(p)
	case http1.BodyUntilClose:
		return len(p), len(p), nil
	}
	return 0, 0, nil
}

// done reports whether the whole body was processed. A body that ends with its connection is
// never done by its bytes.
func (b *body) done() bool {
	switch b.kind {
	case http1.BodyLength:
		return b.left == 0 && (!b.bare || b.chunked.Done())
	case http1.BodyChunked:
		return b.chunked.Done()
	case http1.BodyUntilClose:
		return false
	}
	return true
}

// trailer returns the bytes that follow the last p[:out] of a chunked body.
func (b *body) trailer() []byte {
	if (b.bare || b.kind == http1.BodyChunked) && b.chunked.Done() {
		return b.chunked.Trailer()
	}
	return nil
}

// release ends the use of the chosen backend for the picker and the counters, but not of the
// connection.
func (ex *exchange) release() {
	ex.load.arrived(ex.backend)
	if held := ex.choice.Held; held != nil {
		ex.choice.Held = nil
		giveRoom(held, ex.backend, ex.queue.shared)
	}
	if ex.load.counted {
		ex.load.counted = false
		ex.backendStats().Established--
	}
}

// giveRoom ends a reservation and reports to the queues that the backend may have room.
func giveRoom(held *balance.Load, b *table.Backend, q *state.Queue) {
	held.Done()
	if b != nil {
		b.Queue.Released()
	}
	q.Released()
}

// drop closes the backend connection, if any.
func (ex *exchange) drop() {
	if up := ex.up; up != nil {
		ex.up = nil
		up.Discard() // first, because counting may fail in a broken exchange
		if ex.phase == phaseConnect {
			ex.connecting(-1)
		}
	}
	ex.release()
}

// finish completes the exchange after the last byte of the response.
func (ex *exchange) finish() {
	cl := ex.client
	keep, complete := ex.keepClient, ex.request.done()
	if ex.up != nil {
		ex.giveBack(complete)
	}
	ex.End()
	cl.Finish(keep, complete)
}

// End implements client.Exchange. It releases the exchange, and its client continues without
// it.
func (ex *exchange) End() {
	if ex.login.check != nil {
		ex.login.check.leave(ex)
	}
	ex.drop()
	if ex.revival.attempt != nil {
		ex.revival.end()
	}
	if ex.queue.place != nil {
		ex.queue.leave(ex)
	}
	ex.record.end(ex)
	ex.client.Serve(nil)
	ex.recycle()
}

// recycle returns the buffers of the exchange to their pools, and the exchange to its list.
func (ex *exchange) recycle() {
	w := ex.w
	ex.saved.release(w.loop)
	for _, b := range [...][]byte{ex.head.partial, ex.retry.last} {
		if b != nil {
			w.loop.Buffers.Put(b)
		}
	}
	if ex.encoding.encoder != nil {
		ex.encoding.release(w)
	}
	ex.clear()
	w.exchanges.Put(ex)
}

// clear makes the exchange ready for another request. Arrays stay in use.
func (ex *exchange) clear() {
	ex.w, ex.client, ex.peer, ex.up = nil, nil, nil, nil
	ex.farm, ex.service, ex.backend = nil, nil, nil
	ex.phase, ex.verb, ex.host = 0, 0, ex.host[:0]
	ex.oldClient, ex.keepClient, ex.keepBackend, ex.binds = false, false, false, false

	ex.record = record{id: ex.record.id[:0]}
	ex.upgrade = upgrade{protocol: ex.upgrade.protocol[:0], offers: ex.upgrade.offers[:0]}
	ex.outgoing.Undo.Reset()
	ex.outgoing = table.Outgoing{Undo: ex.outgoing.Undo}
	ex.choice = table.Choice{Key: ex.choice.Key[:0]}
	ex.encoding, ex.login, ex.queue, ex.revival, ex.load = encoding{}, loginWait{}, queueWait{}, revival{}, load{}
	ex.saved, ex.sending, ex.head, ex.retry = savedRequest{}, sending{}, responseHead{}, retries{}
	ex.request.clear() // the bodies are large and reset themselves
	ex.response.clear()
}

// record is the log data of an exchange.
type record struct {
	entry *accesslog.Entry // nil unless logged or watched
	began int64            // time of the complete request head
	id    []byte           // request ID, or empty; its array is reused

	status int  // of the response; 0 before it
	own    bool // the response was generated here
}

// entry begins the record of a request, or returns nil if it is neither logged nor watched.
// r is nil if the head cannot be parsed.
func (w *worker) entry(p *client.Peer, f *table.Farm, r *http1.Request) *accesslog.Entry {
	rec := &w.records
	why := rec.Wants(f.ID, f.Recording.Logged, f.Recording.Sample)
	if why == 0 {
		return nil
	}
	var e *accesslog.Entry
	if n := len(rec.free); n > 0 {
		e, rec.free = rec.free[n-1], rec.free[:n-1]
	} else {
		e = new(accesslog.Entry)
	}
	e.Begin()
	e.Flags, e.Farm, e.Loop = why, f.ID, rec.Loop
	e.Time = rec.wall(w.loop.Now())
	e.Client(table.RealClient(f, p.Conn.Peer(), r))
	if t := p.Conn.TLS(); t != nil {
		e.TLSVersion, e.Cipher = t.Version, t.Cipher
	}
	if r != nil {
		if e.Proto = p.Version; e.Proto == 0 {
			e.Proto = accesslog.ProtoHTTP10 + accesslog.Proto(r.Minor&1)
		}
		e.BytesIn = uint64(r.Len)
		e.Method(r.Method.Of(r.Buf))
		e.Host(r.Host)
		e.Path(r.Sent)
	}
	return e
}

// begin begins the record of the current request.
func (r *record) begin(w *worker, p *client.Peer, f *table.Farm) {
	r.began = w.loop.Now()
	if f.Recording.ID != farm.RequestIDOff {
		r.id = w.query.AppendID(r.id[:0], w.records.IDs)
	}
	if r.entry = w.entry(p, f, &w.req); r.entry != nil {
		r.entry.RequestID(r.id)
		f.Recording.Fields(r.entry, &w.req)
	}
}

// moved counts bytes from and to the client.
func (r *record) moved(in, out uint64) {
	if e := r.entry; e != nil {
		e.BytesIn += in
		e.BytesOut += out
	}
}

// attempt records an attempt to find a backend.
func (r *record) attempt() {
	if e := r.entry; e != nil {
		if e.Tries++; e.Tries > 1 {
			e.Flags |= accesslog.Retried
		}
		e.Flags &^= accesslog.Session | accesslog.Reused
		e.Connect = 0
	}
}

// flag records an event.
func (r *record) flag(f accesslog.Flags) {
	if e := r.entry; e != nil {
		e.Flags |= f
	}
}

// answered records the final response head of the backend, which took that long.
func (r *record) answered(w *worker, f *table.Farm, b *table.Backend, took int64) {
	now := w.loop.Now()
	r.status = w.resp.Status
	w.shard.FarmTimes(f.ID).FirstByte.Observe(now - r.began)
	w.shard.BackendTimes(b.ID).FirstByte.Observe(took)
	if e := r.entry; e != nil {
		e.Response, e.FirstByte = took, now-r.began
	}
}

// answerID appends the request ID to the field lines if the client gets it, and removes the
// backend's own.
func (r *record) answerID(w *worker, f *table.Farm, lines []byte) []byte {
	if f.Recording.ID != farm.RequestIDBoth {
		return lines
	}
	table.RemoveIDs(&w.resp.Head)
	return r.withID(w, lines)
}

// end completes the record before the exchange is released.
func (r *record) end(ex *exchange) {
	w := ex.w
	now := w.loop.Now()
	if r.status != 0 {
		w.shard.FarmTimes(ex.farm.ID).Total.Observe(now - r.began)
		if !r.own {
			w.shard.BackendTimes(ex.backend.ID).Total.Observe(now - ex.sending.began)
		}
	}
	if r.entry != nil {
		complete := r.own || r.status != 0 && ex.response.done()
		r.put(w, ex.service, ex.backend, ex.choice.Why, r.ending(complete))
	}
}

// put completes the entry and passes it on. b is nil if no backend was chosen.
func (r *record) put(w *worker, sv *table.Service, b *table.Backend, why accesslog.Why, flags accesslog.Flags) {
	e := r.entry
	r.entry = nil
	e.Total, e.Status, e.Service = w.loop.Now()-r.began, uint16(r.status), sv.ID
	if b != nil {
		e.Backend, e.Why = b.ID, why
	}
	e.Flags |= flags
	w.records.put(e)
}
