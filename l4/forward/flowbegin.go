package forward

import (
	"errors"
	"net/netip"
	"os"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
)

// open serves a UDP socket of a port.
func (w *worker) open(p *port, file *os.File) error {
	ln := &udpListener{w: w, port: p, flows: map[flowKey]*flow{}}
	socket, err := w.loop.ListenUDP(file, ln)
	if err != nil {
		return err
	}
	ln.socket = socket
	w.udpListeners[p] = ln
	if w.firsts == nil {
		w.firsts = new(firstDatagrams)
	}
	return nil
}

// close ends the flows of a port, because responses need its socket.
func (ln *udpListener) close() {
	for _, f := range ln.flows {
		f.abort(portClosed)
	}
	ln.socket.Close()
	delete(ln.w.udpListeners, ln.port)
}

// begin creates the flow of a new client. It returns nil if the client is refused and its
// datagram dropped.
func (ln *udpListener) begin(key *flowKey, d *loop.Datagram) *flow {
	w := ln.w
	ft := w.engine.table.Load().On(ln.port)
	if ft == nil {
		return nil
	}
	s := w.farm(ft)
	if ft.conns != nil && !ft.conns.take(ft.maxConns) { // before another flow is evicted
		s.Dropped += uint64(d.Count())
		w.note(ft, tooManyClients, "as many flows as the farm may have", key.client.AddrPort(), netip.AddrPort{})
		return nil
	}
	if !w.admit() {
		ft.conns.release()
		s.Dropped += uint64(d.Count())
		return nil
	}
	f := w.flows.values.Get()
	*f = flow{at: ln, farm: ft, key: *key, counted: ft.conns, last: w.loop.Now(), story: story{began: w.loop.Now()}}
	ln.flows[f.key] = f
	w.flows.add(f)
	s.Connections++
	s.Established++
	w.busy++
	if !f.connect(balance.Tried{}, d.Data) {
		s.Dropped += uint64(d.Count())
		f.end()
		return nil
	}
	if d.Segment == 0 && ft.answers != 0 && len(ft.backends) > 1 {
		w.firsts.keep(f, d.Data)
	}
	return f
}

// tuple returns the inputs for the selection of the backend.
func (f *flow) tuple() tuple {
	port := f.at.port.Addr.Port()
	local := netip.AddrPortFrom(f.farm.local, port)
	if f.key.local.IsValid() {
		local = netip.AddrPortFrom(f.key.local.Addr(), port)
	}
	return tuple{client: f.key.client.AddrPort(), local: local, port: virtual(f.at.port.Listener)}
}

// connect gives the flow a backend that was not tried yet, and a socket to it. It returns
// false if none is left. data is the client's first datagram, if any.
func (f *flow) connect(tried balance.Tried, data []byte) bool {
	w := f.at.w
	t := f.tuple()
	last := "" // reason of the last failure
	for i := range triesMost {
		var c choice
		var ok bool
		if i == 0 && f.farm.ids != nil && data != nil {
			c, ok = f.resume(data)
		}
		if !ok {
			c, ok = w.choose(f.farm, &t, tried)
		}
		if !ok {
			var right *balance.Attempt
			if c, right = f.farm.chooseDown(&t, tried, nil); right == nil {
				break
			}
			right.Done() // datagrams have no connect outcome
			f.attempt = true
		}
		b := &f.farm.backends[c.index]
		err := f.reach(b)
		if err == nil {
			f.to, f.choice = b, c
			w.chose(&f.story, c, b)
			s := w.backend(b)
			s.Established++
			s.Connects++
			return true
		}
		c.held.Done()
		w.backend(b).ConnectFailures++
		last = connectFailure(err)
		if outOfDescriptors(err) {
			f.story.reason = noDescriptor
			return false // the next backend would get no socket either
		}
		if !ours(err) {
			w.missed(f.farm, b, &t, err)
		}
		tried = tried.With(c.member)
	}
	w.farm(f.farm).NoBackend++
	reason := f.farm.unserved(f.farm.on(&f.farm.group, t.port), last)
	f.story.refused(noBackend, reason)
	w.note(f.farm, noBackend, reason, t.client, netip.AddrPort{})
	return false
}

// missed records that a datagram could not be sent to a backend.
func (w *worker) missed(f *farmTable, b *backend, t *tuple, err error) {
	if errors.Is(err, marks.ErrNone) {
		w.note(f, noMarked, "no socket with the backend's mark", t.client, b.addr)
		return
	}
	w.engine.lost(b, b.way(t.port), err)
}

// reach gives the flow a socket to a backend.
func (f *flow) reach(b *backend) (err error) {
	w := f.at.w
	to := b.to(f.at.port.Addr.Port())
	if f.farm.answers == 0 {
		if f.shared, err = w.share(b, to); err == nil {
			f.conn = f.shared.conn
		}
		return err
	}
	if f.conn, err = w.loop.DialUDP(to, f, b.options); err != nil && outOfDescriptors(err) && w.flows.evict(w.loop.Now(), f) {
		f.conn, err = w.loop.DialUDP(to, f, b.options)
	}
	return err
}

const (
	firstsKept = 256
	// firstMost is the maximum size of a first datagram that is kept.
	firstMost = 2 << 10
)

// firstDatagrams keeps the first datagrams of the newest flows, in case their backend
// refuses them. Later ones overwrite them.
type firstDatagrams struct {
	flows [firstsKept]*flow
	data  [firstsKept][]byte
	next  int
}

// keep stores the first datagram of a flow.
func (k *firstDatagrams) keep(f *flow, data []byte) {
	if len(data) > firstMost {
		return
	}
	i := k.next
	k.next = (k.next + 1) % firstsKept
	if old := k.flows[i]; old != nil {
		old.first = 0
	}
	k.flows[i], f.first = f, int32(i+1)
	k.data[i] = append(k.data[i][:0], data...)
}

// of returns the first datagram of a flow, which may be empty, if it is kept.
func (k *firstDatagrams) of(f *flow) (data []byte, kept bool) {
	if f.first == 0 {
		return nil, false
	}
	return k.data[f.first-1], true
}

// drop removes the first datagram of an ended flow.
func (k *firstDatagrams) drop(f *flow) {
	if f.first != 0 {
		k.flows[f.first-1] = nil
	}
}
