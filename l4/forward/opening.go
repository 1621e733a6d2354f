package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/refusal"
	"github.com/sluicelb/sluice/l4/hello"
)

// What clients of some farms have to say before a backend is chosen: a header of
// the PROXY protocol, by which a trusted peer tells whose connection it passes
// on, and the beginning of TLS, for the name it asks for. The header is taken;
// TLS is looked at and stays in the socket.

// openTime is how long a client may take for that.
const openTime = 10 * second

// open waits for what the client has to say first, if there is something, and
// connects.
func (p *pair) open() {
	p.intro.Expected = proxyproto.Expect(p.farm.proxyIn, p.farm.trusted, p.client.Peer().Addr())
	if p.intro.Expected == proxyproto.Nothing && p.farm.names == nil {
		p.connect()
		return
	}
	p.opening = true
	p.client.SetDeadline(p.w.loop.Now() + openTime)
}

// readOpening goes on with what the client has to say first.
func (p *pair) readOpening() {
	if p.intro.Expected != proxyproto.Nothing && !p.readIntroduction() {
		return
	}
	// The farm may have changed meanwhile: nothing of the old one is in use yet.
	now := p.w.engine.table.Load().farm(p.port)
	if now == nil || now.id != p.farm.id {
		p.end(accesslog.AbortedHere)
		return
	}
	p.farm = now
	if now.names != nil && !p.readName() {
		return
	}
	if p.awaits > 0 && p.client.WaitFor(1) != nil {
		p.end(accesslog.AbortedHere)
		return
	}
	p.opening, p.awaits = false, 0
	p.client.SetDeadline(0)
	p.connect()
}

// readIntroduction goes on with the header. It reports whether that is done.
func (p *pair) readIntroduction() bool {
	switch o, why := p.intro.Take(p.client, p.w.loop.In, &p.w.header); o {
	case proxyproto.Taken:
		return true
	case proxyproto.Bad:
		p.refuse(badProxyHeader, why)
	case proxyproto.Gone:
		p.end(accesslog.AbortedByClient)
	case proxyproto.Failed:
		p.end(accesslog.AbortedHere)
	}
	return false
}

// readName looks for the name the client asks for. It reports whether that is
// done; who does not speak TLS asks for none.
func (p *pair) readName() bool {
	w, c := p.w, p.client
	b := w.loop.In[:hello.Window]
	n, err := c.Peek(b)
	if err != nil {
		if err != loop.ErrDry {
			p.end(accesslog.AbortedByClient)
		}
		return false
	}
	name, done, err := hello.Name(b[:n], &w.pieces)
	switch {
	case err == hello.ErrNoTLS:
		return true
	case err != nil:
		p.refuse(badHello, err.Error())
		return false
	case done:
		w.lower = appendLower(w.lower[:0], name)
		p.group = p.farm.names.find(w.lower)
		return true
	case c.Ended():
		p.refuse(badHello, "connection ended within the ClientHello")
		return false
	}
	if p.waitFor(hello.Needs(b[:n])) != nil {
		p.end(accesslog.AbortedHere)
	}
	return false
}

// waitFor waits until the client has said n bytes.
func (p *pair) waitFor(n int) error {
	if n == p.awaits { // woken before
		return p.client.WaitMore()
	}
	p.awaits = n
	return p.client.WaitFor(n)
}

// refuse ends a connection that does not begin as it has to.
func (p *pair) refuse(class refusal.Class, reason string) {
	p.w.farm(p.farm).BadRequests++
	p.w.note(p.farm, class, reason, p.client.Peer(), netip.AddrPort{})
	p.story.refused(class)
	p.end(accesslog.AbortedHere)
}

// announcing is the header of the PROXY protocol a farm's connections to
// backends begin with; 0 for none.
func announcing(l *farm.L4) proxyproto.Version {
	if l.Protocol != farm.L4TCP {
		return 0
	}
	return proxyproto.VersionOf(l.ProxyOut)
}

// announcement is the header that tells a backend of the client; it is good
// until the next one on the loop.
func (p *pair) announcement() []byte {
	w := p.w
	w.announced = proxyproto.Append(w.announced[:0], p.farm.announce, p.client.Peer(), p.client.Local(), nil)
	return w.announced
}
