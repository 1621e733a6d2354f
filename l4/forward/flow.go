package forward

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
)

// flowKey identifies a flow of a port: the client and, if there are several, the local
// address.
type flowKey struct{ client, local loop.Endpoint }

// flow is the traffic between one client and one backend. It has its own socket to the
// backend, or shares one if no responses are expected.
type flow struct {
	at      *udpListener
	farm    *farmTable // of the current table
	to      *backend   // of the same table
	conn    *loop.UDPConn
	shared  *oneWay // nil with its own socket
	choice  choice
	counted *connCount // counter for max_conns; may be nil
	key     flowKey
	last    int64 // time of the last datagram in either direction
	left    int32 // outstanding responses, if they are counted
	index   int32 // in its list
	first   int32 // position + 1 of its first datagram in firsts; 0 for none
	state   flowState
	moves   uint8 // number of moves to another backend with it
	// attempt means that the backend was down when it was selected.
	attempt bool
	id      connID
	story   story
}

// flowState is the progress of a flow.
type flowState uint8

const (
	asked    flowState = iota // only the client has sent
	answered                  // the backend has sent, too
	assured                   // the client has reacted to a response, so its address is not spoofed
)

// udpListener receives the datagrams of a port on one loop.
type udpListener struct {
	w      *worker
	port   *port
	socket *loop.UDPListener
	flows  map[flowKey]*flow
}

// Received implements loop.UDPListenerHandler.
func (ln *udpListener) Received(_ *loop.UDPListener, d *loop.Datagram) {
	key := flowKey{d.From, d.To}
	f := ln.flows[key]
	if f != nil && f.stranded() {
		f.story.flags |= accesslog.AbortedByBackend
		f.story.reason = backendDown
		f.end()
		f = nil
	}
	if f == nil {
		if f = ln.begin(&key, d); f == nil {
			return
		}
	}
	s := ln.w.farm(f.farm)
	s.PacketsIn += uint64(d.Count())
	s.BytesIn += uint64(len(d.Data))
	f.forward(d)
}

// stranded reports whether the flow's backend is down while another has room, so that moving
// it does not harm the client. Backends in maintenance keep their flows, and so do down ones
// without a better alternative. Hot path: one load while the backend is up.
func (f *flow) stranded() bool {
	picker := f.farm.on(&f.farm.group, virtual(f.at.port.Listener)).picker
	return !picker.Up(f.choice.member) && picker.Free(balance.Tried{})
}

// Lost implements loop.UDPListenerHandler.
func (ln *udpListener) Lost(_ *loop.UDPListener, _ loop.Endpoint, n int) {
	if f := ln.w.engine.table.Load().On(ln.port); f != nil {
		ln.w.farm(f).Dropped += uint64(n)
	}
}

// forward sends a datagram of the client to the backend.
func (f *flow) forward(d *loop.Datagram) {
	w := f.at.w
	n := d.Count()
	f.last = w.loop.Now()
	if f.state == answered {
		f.state = assured
		w.flows.assure(f)
	}
	if f.farm.answers > 0 {
		f.left = int32(min(int64(f.left)+int64(n)*int64(f.farm.answers), 1<<30))
	}
	if f.farm.ids != nil {
		f.noteUse(d.Data)
	}
	f.story.in += uint64(len(d.Data))
	b := w.backend(f.to)
	b.PacketsOut += uint64(n)
	b.BytesOut += uint64(len(d.Data))
	f.conn.Send(d.Data, d.Segment)
}

// Answered implements loop.UDPConnHandler.
func (f *flow) Answered(_ *loop.UDPConn, d *loop.Datagram) {
	w := f.at.w
	n := d.Count()
	f.last = w.loop.Now()
	if f.state == asked {
		f.state = answered
		w.engine.Prober.Reached(f.to.id)
		if f.attempt {
			f.attempt = false
			w.engine.revived(f.to, f.to.way(virtual(f.at.port.Listener)))
		}
	}
	if f.farm.ids != nil {
		f.noteAnswer(d.Data)
	}
	f.story.out += uint64(len(d.Data))
	b, s := w.backend(f.to), w.farm(f.farm)
	b.PacketsIn += uint64(n)
	b.BytesIn += uint64(len(d.Data))
	s.PacketsOut += uint64(n)
	s.BytesOut += uint64(len(d.Data))
	f.at.socket.Send(d.Data, d.Segment, &f.key.client, &f.key.local)
	if f.farm.answers > 0 {
		if f.left -= int32(n); f.left <= 0 {
			f.end()
		}
	}
}

// Refused implements loop.UDPConnHandler. The backend's port is closed. A flow that has just
// begun moves to another backend with its first datagram. Other flows end, and the client's
// next datagram begins a new one.
func (f *flow) Refused(_ *loop.UDPConn, err error) {
	w := f.at.w
	w.backend(f.to).ConnectFailures++
	w.engine.lost(f.to, f.to.way(virtual(f.at.port.Listener)), err)
	first, kept := w.firsts.of(f)
	if f.state != asked || !kept || f.moves == triesMost {
		f.story.flags |= accesslog.AbortedByBackend
		f.story.reason = backendRefuses
		f.end()
		return
	}
	f.moves++
	member := f.choice.member
	f.letGo()
	if !f.connect(balance.Tried{}.With(member), nil) {
		f.end()
		return
	}
	f.conn.Send(first, 0)
}

// Unsent implements loop.UDPConnHandler.
func (f *flow) Unsent(_ *loop.UDPConn, n int) { f.at.w.farm(f.farm).Dropped += uint64(n) }

// letGo releases the backend and the socket.
func (f *flow) letGo() {
	switch {
	case f.shared != nil:
		f.shared.leave()
		f.shared = nil
	case f.conn != nil:
		f.conn.Close()
	}
	f.conn = nil
	if f.to != nil {
		f.at.w.backend(f.to).Established--
		f.choice.held.Done()
		f.to, f.choice = nil, choice{}
	}
}

// flushedFor is pair.flushedFor for flows.
func (f *flow) flushedFor() string {
	if !f.farm.on(&f.farm.group, virtual(f.at.port.Listener)).picker.Up(f.choice.member) {
		return backendDown
	}
	return endedByOperator
}

// abort ends the flow early.
func (f *flow) abort(reason string) {
	f.story.flags |= accesslog.AbortedHere
	f.story.reason = reason
	f.end()
}

// end removes the flow.
func (f *flow) end() {
	w := f.at.w
	f.letGo()
	w.tell(f.farm, accesslog.ProtoUDP, f.key.client.AddrPort(), &f.story)
	w.firsts.drop(f)
	delete(f.at.flows, f.key)
	w.flows.remove(f)
	f.counted.release()
	w.farm(f.farm).Established--
	w.busy--
	w.engine.flows.Add(-1)
	*f = flow{}
	w.flows.values.Put(f)
}

// farm and backend return the counters of this loop.
func (w *worker) farm(f *farmTable) *stats.Farm     { return w.shard.Farm(f.id) }
func (w *worker) backend(b *backend) *stats.Backend { return w.shard.Backend(b.id) }
