package proxy

import (
	"io"
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// tunnel forwards bytes in both directions, uninspected, after a switch of protocols. It
// takes over both connections from the exchange, which then ends.
type tunnel struct {
	w       *worker
	client  client.Client
	peer    *client.Peer // its connection
	farm    *table.Farm
	service *table.Service
	backend *table.Backend
	up      backend.Transport

	why   accesslog.Why // reason for the selection of the backend
	held  *balance.Load // reservation at the backend
	load  load          // share of the backend's load
	queue *state.Queue  // of the service

	request     body // its rest precedes the client's bytes
	bodyRefused bool // the backend accepts no more of it

	clientEnded, backendEnded bool // directions that have ended

	record record
}

// switchProtocol forwards a 101, n bytes of b, and makes the exchange a tunnel.
func (ex *exchange) switchProtocol(b []byte, n int) {
	w := ex.w
	if err := ex.upgrade.check(&w.resp, ex.client.WantsTunnel()); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	if err := w.applyRules(ex.service); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	// After the rules, which may remove a selection caused by another rule.
	if err := ex.upgrade.checkOffered(&w.resp); err != nil {
		ex.badResponse(answerReason(err))
		return
	}
	o := http1.ResponseOptions{}
	if rules := ex.service.Response; rules != nil {
		o.Extra = rules.Add
	}
	o.Extra = w.withServedBy(w.withCookie(o.Extra, ex.service, ex.backend, &ex.choice), ex.service, ex.backend)
	out := http1.AppendResponse(w.loop.Scratch[:0], &w.resp, &o)
	ex.countAnswer(len(out), len(out))
	t := w.tunnels.Get()
	t.takeOver(ex)
	t.begin(out, b[n:])
	ex.recycle() // b may be a buffer of the exchange
}

// takeOver moves the connections of ex to the tunnel, with its counters and record.
func (t *tunnel) takeOver(ex *exchange) {
	t.w, t.client, t.peer, t.up = ex.w, ex.client, ex.peer, ex.up
	t.farm, t.service, t.backend = ex.farm, ex.service, ex.backend
	t.why, t.held, t.load, t.queue = ex.choice.Why, ex.choice.Held, ex.load, ex.queue.shared
	t.bodyRefused = ex.sending.bodyRefused
	t.request, ex.request = ex.request, t.request
	t.record, ex.record = ex.record, t.record
	t.client.Serve(t)
	t.up.SetOwner(t)
}

// begin sends the head of the 101 and the first bytes of the backend.
func (t *tunnel) begin(head, first []byte) {
	err := t.client.Interim(head)
	if err == nil && len(first) > 0 {
		t.count(0, len(first))
		err = t.client.WriteBody(first, false, nil)
	}
	if err != nil {
		t.ClientGone()
		return
	}
	t.up.SetDeadline(0)
	t.ClientReadable() // the rest of the body comes first
	if t.client != nil {
		t.moveDown()
	}
}

// stats returns the farm's counters of this loop.
func (t *tunnel) stats() *stats.Farm { return t.w.shard.Farm(t.farm.ID) }

// backendStats returns the backend's counters of this loop.
func (t *tunnel) backendStats() *stats.Backend { return t.w.shard.Backend(t.backend.ID) }

// count counts bytes from and to the client.
func (t *tunnel) count(in, out int) {
	f, b := t.stats(), t.backendStats()
	f.BytesIn += uint64(in)
	f.BytesOut += uint64(out)
	b.BytesOut += uint64(in)
	b.BytesIn += uint64(out)
	t.record.moved(uint64(in), uint64(out))
}

// Proceed implements client.Exchange.
func (t *tunnel) Proceed() { t.ClientReadable() }

// ClientReadable implements client.Exchange.
func (t *tunnel) ClientReadable() {
	if !t.request.done() && !t.sendRest() {
		return
	}
	t.moveUp()
}

// sendRest forwards the rest of the request body until it pauses or ends. It reports whether
// the body is complete.
func (t *tunnel) sendRest() bool {
	if t.bodyRefused {
		return false
	}
	l := t.w.loop
	for range readsPerTurn {
		if t.up.Pending() != 0 {
			return false // BackendDrained continues here
		}
		n, err := t.client.ReadBody(l.In[:bodyRead])
		if err == loop.ErrDry {
			t.client.SetDeadline(l.Now() + t.farm.RequestTimeout)
			return false
		}
		if err != nil {
			t.ClientGone()
			return false
		}
		if !t.sendBody(l.In[:n]) {
			return false
		}
		if t.request.done() {
			return true
		}
	}
	t.client.Again()
	return false
}

// sendBody sends the next bytes of the request body. It reports whether the backend accepts
// more.
func (t *tunnel) sendBody(p []byte) bool {
	in, out, err := t.request.take(p, t.service.Multiplexed)
	if err != nil {
		t.badBody(err)
		return false
	}
	t.stats().BytesIn += uint64(in)
	t.backendStats().BytesOut += uint64(out)
	t.record.moved(uint64(in), 0)
	done := t.request.done()
	err = t.up.SendBody(p[:out], done, t.w.requestTrailer(t.farm, t.service, &t.request))
	if in < len(p) {
		t.client.Unread(p[in:])
	}
	if err != nil {
		t.bodyRefused = true
		return done
	}
	return true
}

// badBody ends a tunnel whose request body is badly framed.
func (t *tunnel) badBody(err error) {
	class, _, reason := rejected.Classify(err)
	t.record.reject(t.w, t.farm, class, reason)
	t.w.note(class, 0, t.farm.Name, reason, t.peer.Conn.Peer(), netip.AddrPort{})
	t.stats().BadRequests++
	t.Abort()
}

// moveUp forwards bytes from the client to the backend.
func (t *tunnel) moveUp() {
	n, ended := t.relayUp()
	t.count(n, 0)
	t.moved(ended, &t.clientEnded)
}

// moveDown forwards bytes from the backend to the client.
func (t *tunnel) moveDown() {
	n, ended := t.relayDown()
	t.count(0, n)
	t.moved(ended, &t.backendEnded)
}

// moved ends the tunnel once both directions have ended.
func (t *tunnel) moved(ended bool, side *bool) {
	t.client.SetDeadline(t.w.loop.Now() + t.farm.TunnelIdle)
	if !ended {
		return
	}
	*side = true
	if !t.clientEnded || !t.backendEnded {
		return
	}
	cl, up := t.client, t.up
	up.SetDeadline(0)
	if up.Pending() != 0 {
		t.clientEnded = false // flush first; BackendDrained reads the end again
		return
	}
	t.End()
	cl.Finish(false, false)
}

// relayUp forwards bytes to the backend until it pauses. ended means that the client
// half-closed and the end was forwarded.
func (t *tunnel) relayUp() (moved int, ended bool) {
	l := t.w.loop
	for range readsPerTurn {
		if t.up.Pending() != 0 {
			return moved, false // BackendDrained continues here
		}
		n, err := t.client.ReadBody(l.In)
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err == io.EOF:
			t.up.CloseWrite()
			return moved, true
		case err != nil:
			t.clientEnded, t.backendEnded = true, true // a reset ends both
			return moved, true
		}
		moved += n
		if t.up.SendBody(l.In[:n], false, nil) != nil {
			return moved, true
		}
	}
	t.client.Again()
	return moved, false
}

// relayDown is relayUp from the backend to the client.
func (t *tunnel) relayDown() (moved int, ended bool) {
	l := t.w.loop
	for range readsPerTurn {
		room := t.client.Room(len(l.In))
		if room == 0 {
			return moved, false // ClientDrained continues here
		}
		n, err := t.up.Read(l.In[:room])
		switch {
		case err == loop.ErrDry:
			return moved, false
		case err != nil:
			reset := err != io.EOF
			if reset {
				t.clientEnded, t.backendEnded = true, true
			}
			t.client.EndTunnel(reset)
			return moved, true
		}
		moved += n
		if t.client.WriteBody(l.In[:n], false, nil) != nil {
			return moved, true
		}
	}
	t.up.Again()
	return moved, false
}

// ClientDrained implements client.Exchange. The client has read all pending bytes.
func (t *tunnel) ClientDrained() { t.moveDown() }

// ClientExpired implements client.Exchange.
func (t *tunnel) ClientExpired() { t.ClientGone() }

// ClientGone implements client.Exchange.
func (t *tunnel) ClientGone() {
	cl := t.client
	t.record.flag(accesslog.AbortedByClient)
	t.End()
	cl.Close(true)
}

// Watches implements client.Exchange. A tunnel reads the last bytes of its client.
func (t *tunnel) Watches() client.Watch { return client.WatchNothing }

// BodyRefused implements client.Exchange.
func (t *tunnel) BodyRefused() bool { return t.bodyRefused }

// CutOff implements client.Exchange.
func (t *tunnel) CutOff(from func(backend uint32) bool) bool {
	if !from(t.backend.ID) {
		return false
	}
	t.Abort()
	return true
}

// Abort implements client.Exchange.
func (t *tunnel) Abort() {
	cl := t.client
	t.End()
	cl.Abort(false)
}

// End implements client.Exchange. It releases the tunnel and its backend connection.
func (t *tunnel) End() {
	w := t.w
	if up := t.up; up != nil {
		t.up = nil
		up.Discard() // first, because counting may fail in a broken tunnel
	}
	if held := t.held; held != nil {
		t.held = nil
		giveRoom(held, t.backend, t.queue)
	}
	if t.load.counted {
		t.load.counted = false
		t.backendStats().Established--
	}
	if t.record.entry != nil {
		t.record.put(w, t.service, t.backend, t.why, accesslog.Tunnel|t.record.ending(t.clientEnded && t.backendEnded))
	}
	t.client.Serve(nil)
	id := t.record.id[:0]
	t.request.clear()
	request := t.request
	*t = tunnel{request: request}
	t.record.id = id
	w.tunnels.Put(t)
}

// BackendConnected implements backend.Owner. Tunnels begin on established connections.
func (t *tunnel) BackendConnected(int64, bool, error) {}

// BackendReadable implements backend.Owner.
func (t *tunnel) BackendReadable() {
	defer t.peer.Conn.Contain()
	peer := t.peer
	corked := peer.Cork()
	t.moveDown()
	peer.Uncork(corked)
}

// BackendDrained implements backend.Owner. There is room for more.
func (t *tunnel) BackendDrained() {
	defer t.peer.Conn.Contain()
	t.ClientReadable()
}

// BackendExpired implements backend.Owner. A tunnel sets no deadline for its backend.
func (t *tunnel) BackendExpired() {}

// BackendFailed implements backend.Owner.
func (t *tunnel) BackendFailed(error) {
	defer t.peer.Conn.Contain()
	t.up = nil // the pool has taken the transport back
	t.backendStats().Resets++
	t.record.flag(accesslog.AbortedByBackend)
	t.Abort()
}
