package proxy

import (
	"io"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// A farm may let trusted peers begin a connection with a header of the PROXY
// protocol, before TLS: it says whose connection they pass on. That address is
// the client's from then on, for everything: what backends are told, sessions,
// limits, records. What the client then says of itself (X-Forwarded-For) was not
// written by the peer, who only passes bytes on: it is believed if the address
// in the header is trusted, too.

// readIntroduction takes the header from the socket, and nothing behind it.
func (cl *client) readIntroduction() {
	w, c := cl.w, cl.conn
	if cl.intro == proxyproto.Refused {
		cl.refuseIntroduction("peer not trusted to send the required PROXY header")
		return
	}
	p := cl.header
	if p == nil {
		p = &w.header
		p.Reset()
	}
	for {
		b := w.loop.In[:proxyproto.MaxV2]
		n, err := c.Peek(b)
		if err != nil {
			cl.introductionEnded(p, err)
			return
		}
		used, done, err := p.Feed(b[:n])
		if c.Skip(used) != nil {
			cl.close()
			return
		}
		switch {
		case err == error(proxyproto.ErrNone) && cl.intro == proxyproto.Optional:
			cl.introduced(proxyproto.Header{})
			return
		case err != nil:
			cl.refuseIntroduction(err.Error())
			return
		case done:
			cl.introduced(p.Header())
			return
		case used == 0 && c.Ending():
			cl.introductionEnded(p, io.EOF)
			return
		case used == 0: // half a signature, which stays where it is
			cl.keepIntroduction()
			if c.WaitMore() != nil {
				cl.close()
			}
			return
		}
	}
}

// keepIntroduction keeps what has come of the header; mostly it comes whole.
func (cl *client) keepIntroduction() {
	if cl.header == nil {
		cl.header = new(proxyproto.Parser)
		*cl.header = cl.w.header
	}
}

// introduced goes on with what the header was for.
func (cl *client) introduced(h proxyproto.Header) {
	cl.intro, cl.header = proxyproto.Nothing, nil
	f := cl.w.engine.farm(cl.port)
	if f == nil {
		cl.close()
		return
	}
	if h.Source.IsValid() {
		cl.conn.SetPeer(h.Source)
	}
	if f.tls != nil {
		cl.conn.Secure(f.tls.security)
	}
	cl.conn.Proceed()
}

// introductionEnded handles a socket that has no more to give now, or ever. A
// connection without a byte is nobody's fault: checks make them.
func (cl *client) introductionEnded(p *proxyproto.Parser, err error) {
	switch {
	case err == loop.ErrDry:
		cl.keepIntroduction()
	case err == io.EOF && cl.intro == proxyproto.Optional && !p.Begun():
		cl.introduced(proxyproto.Header{}) // less than a signature is no header
	case err == io.EOF && p.Begun():
		cl.refuseIntroduction("connection ended within the PROXY header")
	default:
		cl.close()
	}
}

// refuseIntroduction ends a connection that did not begin as it has to. There is
// no answer: whoever gets it may not be who it is for.
func (cl *client) refuseIntroduction(reason string) {
	cl.stats().BadRequests++
	cl.note(badProxyHeader, 0, reason)
	cl.close()
}

// introductionExpired ends a connection whose header did not come in time.
func (cl *client) introductionExpired() {
	if cl.header != nil && cl.header.Begun() {
		cl.stats().Timeouts++
		cl.note(timeout, 0, "PROXY header not complete in time")
	}
	cl.close()
}
