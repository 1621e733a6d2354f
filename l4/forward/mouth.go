package forward

import (
	"errors"
	"net/netip"
	"os"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/marks"
)

// mouth is where the datagrams of a port come in on one loop.
type mouth struct {
	w     *worker
	port  *port
	in    *loop.Inlet
	flows map[flowKey]*flow
}

// open serves a UDP socket of a port.
func (w *worker) open(p *port, file *os.File) error {
	m := &mouth{w: w, port: p, flows: map[flowKey]*flow{}}
	in, err := w.loop.Inlet(file, m)
	if err != nil {
		return err
	}
	m.in = in
	w.mouths[p] = m
	if w.firsts == nil {
		w.firsts = new(firsts)
	}
	return nil
}

// close ends the flows of a port with it: without its socket nothing can be
// answered.
func (m *mouth) close() {
	for _, f := range m.flows {
		f.abort()
	}
	m.in.Close()
	delete(m.w.mouths, m.port)
}

// Received implements loop.InletHandler.
func (m *mouth) Received(_ *loop.Inlet, d *loop.Datagram) {
	key := flowKey{d.From, d.To}
	f := m.flows[key]
	if f == nil {
		if f = m.begin(&key, d); f == nil {
			return
		}
	}
	s := m.w.farm(f.farm)
	s.PacketsIn += uint64(d.Count())
	s.BytesIn += uint64(len(d.Data))
	f.forward(d)
}

// Lost implements loop.InletHandler.
func (m *mouth) Lost(_ *loop.Inlet, _ loop.Endpoint, n int) {
	if f := m.w.engine.table.Load().farm(m.port); f != nil {
		m.w.farm(f).Dropped += uint64(n)
	}
}

// begin makes the flow of a client that has none; nil when it may not have one,
// and what it sent is dropped.
func (m *mouth) begin(key *flowKey, d *loop.Datagram) *flow {
	w := m.w
	ft := w.engine.table.Load().farm(m.port)
	if ft == nil {
		return nil
	}
	s := w.farm(ft)
	if ft.places != nil && !ft.places.enter(ft.most) { // before others make room for it
		s.Dropped += uint64(d.Count())
		w.note(ft, tooManyClients, "as many flows as the farm may have", key.client.AddrPort(), netip.AddrPort{})
		return nil
	}
	if !w.admit() {
		ft.places.leave()
		s.Dropped += uint64(d.Count())
		return nil
	}
	f := w.flows.values.Get()
	*f = flow{at: m, farm: ft, key: *key, place: ft.places, last: w.loop.Now(), story: story{began: w.loop.Now()}}
	m.flows[f.key] = f
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

// connect gives the flow a backend that was not tried, and a socket to it. It
// reports false when there is none. data, if any, is what the client sent first.
func (f *flow) connect(tried balance.Tried, data []byte) bool {
	w := f.at.w
	t := f.tuple()
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
			right.Done() // a datagram has no outcome to wait for
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
		if outOfDescriptors(err) {
			return false // the next backend would get none either
		}
		if !ours(err) {
			w.missed(f.farm, b, &t, err)
		}
		tried = tried.With(c.member)
	}
	w.farm(f.farm).NoBackend++
	f.story.refused(noBackend)
	w.note(f.farm, noBackend, "no backend can be used now", t.client, netip.AddrPort{})
	return false
}

// missed notes that a backend could not be sent to.
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
			f.out = f.shared.out
		}
		return err
	}
	if f.out, err = w.loop.Outlet(to, f, b.options); err != nil && outOfDescriptors(err) && w.flows.evict(w.loop.Now(), f) {
		f.out, err = w.loop.Outlet(to, f, b.options)
	}
	return err
}
