package proxy

import (
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/refused"
)

// A farm may let trusted peers begin a connection with a header of the PROXY
// protocol, before TLS: it says whose connection they pass on. That address is
// the client's from then on, for everything: what backends are told, sessions,
// limits, records. What the client then says of itself (X-Forwarded-For) was not
// written by the peer, who only passes bytes on: it is believed if the address
// in the header is trusted, too.

// readIntroduction goes on with the header.
func (cl *client) readIntroduction() {
	switch o, why := cl.intro.Take(cl.conn, cl.w.loop.In, &cl.w.header); o {
	case proxyproto.Taken:
		cl.introduced()
	case proxyproto.Bad:
		cl.refuseIntroduction(why)
	case proxyproto.Gone, proxyproto.Failed:
		cl.close()
	}
}

// introduced goes on with what the header was for.
func (cl *client) introduced() {
	f := cl.w.engine.farm(cl.port)
	if f == nil {
		cl.close()
		return
	}
	if f.TLS != nil {
		cl.conn.Secure(f.TLS.Security)
	}
	cl.conn.Proceed()
}

// refuseIntroduction ends a connection that did not begin as it has to. There is
// no answer: whoever gets it may not be who it is for.
func (cl *client) refuseIntroduction(reason string) {
	cl.stats().BadRequests++
	cl.note(refused.BadProxyHeader, 0, reason)
	cl.close()
}

// introductionExpired ends a connection whose header did not come in time.
func (cl *client) introductionExpired() {
	if cl.intro.Begun() {
		cl.stats().Timeouts++
		cl.note(refused.Timeout, 0, "PROXY header not complete in time")
	}
	cl.close()
}
