package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// exchange is one request and its response, from the complete request head to
// the last byte of the response.
type exchange struct {
	progress
	request  body
	response body
}

// progress is all of an exchange that is cleared when it ends: the bodies, which
// are large, begin anew by themselves.
type progress struct {
	w       *worker
	client  client.Client
	peer    *client.Peer // its connection
	farm    *table.Farm  // of the table the exchange began with
	service *table.Service
	backend *table.Backend
	up      backend.Transport // nil before a backend was found and after it was let go
	phase   phase

	verb http1.Verb
	host []byte // the request's, its array kept for the next exchange

	oldClient  bool // HTTP/1.0: no chunks, no 1xx
	keepClient bool // the client's connection may go on
	upgrade    bool // the client asked for another protocol
	counted    bool // the backend's counters say that it is in flight there
	waiting    bool // counted on the backend's load as awaiting the response
	binds      bool // the backend's connection is the client's, by a log-in

	table.Choice
	table.Outgoing
	loginWait
	question
	queueWait
	reviving
	sending
	receiving
	retries
	encoding
	handshake
	tunnel
	record
}

// phase is where an exchange stands on its backend side.
type phase uint8

const (
	phaseConnect phase = iota // the connection is being opened
	phaseHead                 // the response head is awaited
	phaseBody                 // the response body flows
	phaseTunnel               // another protocol: bytes flow both ways
)

// stats are the farm's counters of this loop.
func (ex *exchange) stats() *stats.Farm { return ex.w.shard.Farm(ex.farm.ID) }

// backendStats are the counters of the chosen backend on this loop.
func (ex *exchange) backendStats() *stats.Backend { return ex.w.shard.Backend(ex.backend.ID) }

// body follows one message body through the proxy.
type body struct {
	kind    http1.Body
	left    int64 // of a counted body
	chunked http1.Chunked
	bare    bool // it comes as it is, and its end by itself: see end
}

// clear makes it the body of no message.
func (b *body) clear() {
	if b.bare || b.kind == http1.BodyChunked {
		b.chunked.Trim()
	}
	b.kind, b.left, b.bare = http1.BodyNone, 0, false
}

// start begins the body of a message with the given framing. Trailers are
// for a receiver that gets chunks.
func (b *body) start(kind http1.Body, h *http1.Head, trailers bool) {
	b.kind, b.left, b.bare = kind, 0, false
	switch kind {
	case http1.BodyLength:
		b.left = h.ContentLength
	case http1.BodyChunked:
		b.chunked.Reset(trailers)
	}
}

// startAnswer begins the body of an answer.
func (b *body) startAnswer(kind http1.Body, h *http1.Head, trailers bool) {
	b.start(kind, h, trailers)
	if kind == http1.BodyChunked {
		b.chunked.FromBackend(h.Allowed())
	}
}

// take looks at the next bytes: p[:in] belong to the body and p[:out], which
// may be fewer, are to be sent on. unchunk removes chunk framing.
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

// done reports whether the last byte of the body was taken. A body that lasts
// until its connection closes is never done by its bytes.
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

// trailer is what follows the last p[:out] of a chunked body.
func (b *body) trailer() []byte {
	if (b.bare || b.kind == http1.BodyChunked) && b.chunked.Done() {
		return b.chunked.Trailer()
	}
	return nil
}

// save keeps the request in the scratch buffer for sending later or again.
func (ex *exchange) save() {
	b := ex.w.loop.Scratch
	ex.head = append(ex.w.loop.Buffers.Get(len(b)), b...)
}

// unsave lets the saved request go: from now on it cannot be sent again.
func (ex *exchange) unsave() {
	if ex.head != nil {
		ex.w.loop.Buffers.Put(ex.head)
		ex.head = nil
	}
	ex.replayable = false
}

// release ends the use of the chosen backend: the picker's and the counters'
// view of it, not the connection.
func (ex *exchange) release() {
	ex.arrived()
	if held := ex.Held; held != nil {
		ex.Held = nil
		held.Done()
		ex.queue.Released()
	}
	if ex.counted {
		ex.counted = false
		ex.backendStats().Established--
	}
}

// drop closes the backend's connection, if there is one.
func (ex *exchange) drop() {
	if up := ex.up; up != nil {
		ex.up = nil
		up.Discard() // first: an exchange that is broken may fail at counting
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

// End implements client.Exchange: it gives the exchange back, and its client goes on
// without it.
func (ex *exchange) End() {
	if ex.login != nil {
		ex.login.leave(ex)
	}
	ex.drop()
	if ex.attempt != nil {
		ex.endAttempt()
	}
	if ex.wait != nil {
		ex.leaveQueue()
	}
	ex.recordEnd()
	ex.unsave()
	if ex.asked != nil {
		ex.w.loop.Buffers.Put(ex.asked)
	}
	if ex.ahead != nil {
		ex.w.loop.Buffers.Put(ex.ahead)
	}
	if ex.last != nil {
		ex.w.loop.Buffers.Put(ex.last)
	}
	if ex.encoder != nil {
		ex.returnEncoder()
	}
	undo := ex.Undo
	undo.Reset()
	ex.client.Serve(nil)
	w := ex.w
	key, host, id, protocol, offers := ex.Key[:0], ex.host[:0], ex.id[:0], ex.protocol[:0], ex.offers[:0]
	ex.progress = progress{}
	ex.Key, ex.host, ex.id, ex.protocol, ex.offers = key, host, id, protocol, offers
	ex.request.clear()
	ex.response.clear()
	w.exchanges.Put(ex)
	ex.Undo = undo
}

// record is what is written down of an exchange.
type record struct {
	entry *accesslog.Entry // nil when it is not logged or watched
	began int64            // when the request head was complete
	sent  int64            // when the request, as far as there was one to wait for, was handed to the backend
	id    []byte           // of the request, its array kept for the next exchange; empty without one

	status int  // of the answer, 0 before it
	own    bool // the answer was made here
}

// entry begins the record of a request of the farm; nil when it is not logged or watched.
// r is the request's head, nil when it cannot be read.
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

// recordHead begins the record of an exchange.
func (ex *exchange) recordHead() {
	w := ex.w
	ex.began = w.loop.Now()
	ex.takeID()
	if ex.entry = w.entry(ex.peer, ex.farm, &w.req); ex.entry != nil {
		ex.entry.RequestID(ex.id)
		ex.farm.Recording.Fields(ex.entry, &w.req)
	}
}

// takeID finds the id of the exchange when its farm wants one: that of a
// trusted peer, or a new one.
func (ex *exchange) takeID() {
	f := ex.farm
	if f.Recording.ID == farm.RequestIDOff {
		return
	}
	ex.id = ex.w.query.AppendID(ex.id[:0], ex.w.records.IDs)
}

// recordMoved counts bytes from and to the client.
func (ex *exchange) recordMoved(in, out uint64) {
	if e := ex.entry; e != nil {
		e.BytesIn += in
		e.BytesOut += out
	}
}

// recordTry notes that a backend is being looked for, once more perhaps.
func (ex *exchange) recordTry() {
	if e := ex.entry; e != nil {
		if e.Tries++; e.Tries > 1 {
			e.Flags |= accesslog.Retried
		}
		e.Flags &^= accesslog.Session | accesslog.Reused
		e.Connect = 0
	}
}

// recordFlag notes that something happened.
func (ex *exchange) recordFlag(f accesslog.Flags) {
	if e := ex.entry; e != nil {
		e.Flags |= f
	}
}

// recordAnswer notes the head of the final answer, which came from the backend.
func (ex *exchange) recordAnswer(took int64) {
	now := ex.w.loop.Now()
	ex.status = ex.w.resp.Status
	ex.w.shard.FarmTimes(ex.farm.ID).FirstByte.Observe(now - ex.began)
	ex.w.shard.BackendTimes(ex.backend.ID).FirstByte.Observe(took)
	if e := ex.entry; e != nil {
		e.Response, e.FirstByte = took, now-ex.began
	}
}

// recordEnd completes the record of an exchange that is about to be given back.
func (ex *exchange) recordEnd() {
	w := ex.w
	now := w.loop.Now()
	total := now - ex.began
	if ex.status != 0 && ex.phase != phaseTunnel {
		w.shard.FarmTimes(ex.farm.ID).Total.Observe(total)
		if !ex.own {
			w.shard.BackendTimes(ex.backend.ID).Total.Observe(now - ex.sent)
		}
	}
	e := ex.entry
	if e == nil {
		return
	}
	ex.entry = nil
	e.Total, e.Status, e.Service = total, uint16(ex.status), ex.service.ID
	if ex.backend != nil {
		e.Backend, e.Why = ex.backend.ID, ex.Why
	}
	e.Flags |= ex.ending(e)
	w.records.put(e)
}
