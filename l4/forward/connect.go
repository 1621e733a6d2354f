package forward

import (
	"errors"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/marks"
)

// triesMost bounds the backends tried at once for one client.
const triesMost = 32

// tuple returns the inputs for the selection of the backend.
func (p *pair) tuple() tuple {
	port := p.port.Addr.Port()
	t := tuple{client: p.client.Peer(), local: netip.AddrPortFrom(p.farm.local, port), port: virtual(p.port.Listener), group: p.group}
	if p.farm.needsLocal() {
		t.local = p.client.Local()
	}
	return t
}

// connect selects a backend that was not tried yet and connects to it. If none is left, the
// client is refused.
func (p *pair) connect() {
	w, f := p.w, p.farm
	t := p.tuple()
	for range triesMost {
		c, ok := w.choose(f, &t, p.tried)
		if !ok {
			c, ok = p.chooseDown(&t)
		}
		if !ok {
			break
		}
		if now := w.engine.table.Load(); now.ByID[f.id] != nil && now.mustEnd(f.backends[c.index].id) {
			p.tried = p.tried.With(c.member) // since the farm was compiled
			c.held.Done()
			continue
		}
		if p.dial(c) {
			return
		}
	}
	p.attempted()
	if p.renew() {
		p.connect()
		return
	}
	w.farm(f).NoBackend++
	reason := f.unserved(p.candidates(&t), p.lastFailure)
	w.note(f, noBackend, reason, p.client.Peer(), netip.AddrPort{})
	p.story.refused(noBackend, reason)
	p.end(accesslog.AbortedHere, reason)
}

// candidates returns the group of backends that may serve the client of a tuple.
func (p *pair) candidates(t *tuple) *group {
	g := t.group
	if g == nil {
		g = &p.farm.group
	}
	return p.farm.on(g, t.port)
}

// renew switches to the current configuration of the farm, which may allow more than the one
// the pair began with. It returns false if it is unchanged. Clients with a server name keep
// their backends.
func (p *pair) renew() bool {
	now := p.w.engine.table.Load().On(p.port)
	if now == nil || now == p.farm || now.id != p.farm.id || p.farm.names != nil || now.names != nil {
		return false
	}
	p.farm, p.tried, p.lastFailure = now, balance.Tried{}, ""
	return true
}

// dial begins to connect to a selected backend. It returns false if that failed immediately
// and another one may be tried.
func (p *pair) dial(c choice) bool {
	w := p.w
	b := &p.farm.backends[c.index]
	p.choice, p.to, p.began = c, b, w.loop.Now()
	w.chose(&p.story, c, b)
	s := w.backend(b)
	s.Established++
	s.Pending++
	options := b.options
	if options.Mark == marks.Transparent {
		options.Source = p.client.Peer().Addr() // replies return, see sysnet/route
	}
	if p.farm.proxyOut != 0 {
		options.Preface = p.backendHeader()
	}
	timeout := p.farm.connect
	if p.attempt != nil {
		timeout = min(timeout, attemptTime)
	}
	up, err := w.loop.Dial(b.to(p.port.Addr.Port()), (*backendSide)(p), timeout, options)
	if err == nil {
		p.up = up
		return true
	}
	p.missed(err)
	return false
}

// missed records a failed connect to the selected backend.
func (p *pair) missed(err error) {
	w, b := p.w, p.to
	w.backend(b).ConnectFailures++
	p.lastFailure = connectFailure(err)
	switch {
	case errors.Is(err, marks.ErrNone):
		w.note(p.farm, noMarked, "no socket with the backend's mark", p.client.Peer(), b.addr)
	case ours(err):
	case b.options.Mark == marks.Transparent:
		w.engine.doubt(b, b.way(virtual(p.port.Listener)))
	default:
		w.engine.lost(b, b.way(virtual(p.port.Listener)), err)
	}
	p.tried = p.tried.With(p.choice.member)
	p.release()
}

// ours reports whether this machine caused an error, so that it does not count against a
// backend. That is a lack of resources, or a source address (including one from a PROXY
// header) that is unavailable here or in the backend's IP version.
func ours(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOBUFS) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EADDRINUSE) ||
		errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EINVAL)
}

// release releases the selected backend.
func (p *pair) release() {
	if p.to == nil {
		return
	}
	s := p.w.backend(p.to)
	s.Established--
	if !p.established {
		s.Pending--
	}
	p.choice.held.Done()
	p.to, p.choice = nil, choice{}
}

// failed abandons the connect in progress and tries another backend.
func (p *pair) failed() {
	p.up.Close()
	p.up = nil
	p.tried = p.tried.With(p.choice.member)
	p.release()
	p.connect()
}
