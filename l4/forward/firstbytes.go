package forward

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/ascii"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/l4/hello"
)

// Clients of some farms must send data before a backend is selected: a PROXY header, in
// which a trusted peer identifies the client, or a ClientHello with the server name. The
// header is consumed; the ClientHello is peeked at and stays in the socket.

// firstBytesTime is the timeout for the first bytes.
const firstBytesTime = 10 * second

// start waits for the first bytes if the farm requires them, and connects.
func (p *pair) start() {
	p.proxyHeader.Expected = proxyproto.Expect(p.farm.proxyIn, p.farm.trusted, p.client.Peer().Addr())
	if p.proxyHeader.Expected == proxyproto.Nothing && p.farm.names == nil {
		p.connect()
		return
	}
	p.firstBytes = true
	p.client.SetDeadline(p.w.loop.Now() + firstBytesTime)
}

// readFirstBytes continues with the first bytes of the client.
func (p *pair) readFirstBytes() {
	if p.proxyHeader.Expected != proxyproto.Nothing && !p.readProxyHeader() {
		return
	}
	// The farm may have changed meanwhile; the pair does not use the old one yet.
	now := p.w.engine.table.Load().On(p.port)
	if now == nil || now.id != p.farm.id {
		p.end(accesslog.AbortedHere, portReassigned)
		return
	}
	p.farm = now
	if now.names != nil && !p.readName() {
		return
	}
	if p.awaits > 0 && p.client.WaitFor(1) != nil {
		p.end(accesslog.AbortedHere, clientLeftEarly)
		return
	}
	p.firstBytes, p.awaits = false, 0
	p.client.SetDeadline(0)
	p.connect()
}

// readProxyHeader continues with the PROXY header. It reports whether it is complete.
func (p *pair) readProxyHeader() bool {
	switch o, why := p.proxyHeader.Take(p.client, p.w.loop.In, &p.w.header); o {
	case proxyproto.Taken:
		return true
	case proxyproto.Bad:
		p.refuse(badProxyHeader, why)
	case proxyproto.Gone:
		p.end(accesslog.AbortedByClient, clientLeftEarly)
	case proxyproto.Failed:
		p.end(accesslog.AbortedHere, clientLeftEarly)
	}
	return false
}

// readName looks for the server name. It reports whether the search is complete; clients
// without TLS have no name.
func (p *pair) readName() bool {
	w, c := p.w, p.client
	b := w.loop.In[:hello.Window]
	n, err := c.Peek(b)
	if err != nil {
		if err != loop.ErrDry {
			p.end(accesslog.AbortedByClient, clientLeftEarly)
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
		w.lower = ascii.AppendLower(w.lower[:0], name)
		p.group = p.farm.names.find(w.lower)
		return true
	case c.Ended():
		p.refuse(badHello, "connection ended within the ClientHello")
		return false
	}
	if p.waitFor(hello.Needs(b[:n])) != nil {
		p.end(accesslog.AbortedHere, clientLeftEarly)
	}
	return false
}

// waitFor waits until n bytes of the client have arrived.
func (p *pair) waitFor(n int) error {
	if n == p.awaits { // woken before
		return p.client.WaitMore()
	}
	p.awaits = n
	return p.client.WaitFor(n)
}

// refuse ends a connection with an invalid beginning.
func (p *pair) refuse(class rejection.Class, reason string) {
	p.w.farm(p.farm).BadRequests++
	p.w.note(p.farm, class, reason, p.client.Peer(), netip.AddrPort{})
	p.story.refused(class, reason)
	p.end(accesslog.AbortedHere, reason)
}

// proxyOutOf returns the version of the PROXY header for backend connections; 0 for none.
func proxyOutOf(l *farm.L4) proxyproto.Version {
	if l.Protocol != farm.L4TCP {
		return 0
	}
	return proxyproto.VersionOf(l.ProxyOut)
}

// backendHeader returns the PROXY header with the client's address, valid until the next one
// on the loop.
func (p *pair) backendHeader() []byte {
	w := p.w
	w.backendHeader = proxyproto.Append(w.backendHeader[:0], p.farm.proxyOut, p.client.Peer(), p.client.Local(), nil)
	return w.backendHeader
}
