package proxy

import (
	"cmp"
	"io"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
)

// A farm may let trusted peers begin a connection with a header of the PROXY
// protocol, before TLS: it says whose connection they pass on. That address is
// the client's from then on, for everything: what backends are told, sessions,
// limits, records. What the client then says of itself (X-Forwarded-For) was not
// written by the peer, who only passes bytes on: it is believed if the address
// in the header is trusted, too.

// introduction is what is expected in front of a connection.
type introduction uint8

const (
	introNone     introduction = iota // nothing, or no more
	introOptional                     // perhaps a header
	introRequired                     // a header
	introRefused                      // a header, of somebody who may not send one
)

func newIntroduction(h *farm.HTTP) introduction {
	switch cmp.Or(h.ProxyIn, farm.ProxyInOff) {
	case farm.ProxyInOptional:
		return introOptional
	case farm.ProxyInRequired:
		return introRequired
	}
	return introNone
}

// introduction is what is expected of a peer of the farm.
func (f *farmTable) introduction(c *loop.Conn) introduction {
	switch {
	case f.proxyIn == introNone || trusts(f.trusted, c.Peer().Addr()):
		return f.proxyIn
	case f.proxyIn == introRequired:
		return introRefused
	}
	return introNone // what looks like a header is bytes like any other
}

// readIntroduction takes the header from the socket, and nothing behind it.
func (cl *client) readIntroduction() {
	w, c := cl.w, cl.conn
	if cl.intro == introRefused {
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
		case err == error(proxyproto.ErrNone) && cl.intro == introOptional:
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
	cl.intro, cl.header = introNone, nil
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
	case err == io.EOF && cl.intro == introOptional && !p.Begun():
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
