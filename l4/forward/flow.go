package forward

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/stats"
)

// flowKey is what tells flows of a port apart: the client, and the address of
// ours it sends to where there are several.
type flowKey struct{ client, local loop.Endpoint }

// flow is the datagrams between one client and one backend. It has a socket of
// its own to the backend, or shares one when no answers are expected.
type flow struct {
	at      *udpListener
	farm    *farmTable // of the table in use
	to      *backend   // of the same table
	conn    *loop.UDPConn
	shared  *oneWay // nil for a socket of its own
	choice  choice
	counted *connCount // counts it for max_conns; nil without
	key     flowKey
	last    int64 // when a datagram came or went
	left    int32 // answers to come, where they are counted
	index   int32 // in its list
	first   int32 // where its first datagram is kept, from 1 on; 0: nowhere
	state   flowState
	moves   uint8 // how often it went to another backend with it
	// attempt: the backend was down when it was chosen.
	attempt bool
	id      connID
	story   story
}

// flowState is how far a flow has come.
type flowState uint8

const (
	asked    flowState = iota // only the client has sent
	answered                  // the backend has, too
	assured                   // and the client knew what the backend sent it: it is no spoofed address
)

// udpListener is where the datagrams of a port come in on one loop.
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

// stranded reports whether the flow's backend is down while another has room: its client
// would not notice. A backend in maintenance keeps its flows, and so does one that is down
// as long as there is no better one. Hot path: one load while the backend is up.
func (f *flow) stranded() bool {
	picker := f.farm.on(&f.farm.group, virtual(f.at.port.Listener)).picker
	return !picker.Up(f.choice.member) && picker.Free(balance.Tried{})
}

// Lost implements loop.UDPListenerHandler.
func (ln *udpListener) Lost(_ *loop.UDPListener, _ loop.Endpoint, n int) {
	if f := ln.w.engine.table.Load().farm(ln.port); f != nil {
		ln.w.farm(f).Dropped += uint64(n)
	}
}

// forward sends what came from the client to the backend.
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

// Refused implements loop.UDPConnHandler: the backend is not there. A flow that
// has only just begun goes to another one with its first datagram; others end,
// and what their client sends next begins a new one.
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

// letGo gives the backend back, and the socket.
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

// flushedFor is that of pairs.
func (f *flow) flushedFor() string {
	if !f.farm.on(&f.farm.group, virtual(f.at.port.Listener)).picker.Up(f.choice.member) {
		return backendDown
	}
	return endedByOperator
}

// abort ends the flow before its time.
func (f *flow) abort(reason string) {
	f.story.flags |= accesslog.AbortedHere
	f.story.reason = reason
	f.end()
}

// end forgets the flow.
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

// farm and backend are where the loop counts.
func (w *worker) farm(f *farmTable) *stats.Farm     { return w.shard.Farm(f.id) }
func (w *worker) backend(b *backend) *stats.Backend { return w.shard.Backend(b.id) }
