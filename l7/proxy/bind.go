package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// NTLM, and Negotiate that comes down to it or to a ticket of Kerberos, log in a
// connection and not a request: what comes on it later is that user's, whoever
// sent it. So a connection on which such a log-in began is kept for its client, as
// those of pinned services are. Streams of HTTP/2 keep none, and those of HTTP/2 are shared:
// a connection to a backend that a stream's log-in was sent on ends with the
// exchange, one of HTTP/2 takes no other exchange any more. Such log-ins need HTTP/1.1 on both
// sides: a stream whose backend asks for one is reset with HTTP_1_1_REQUIRED, upon which
// browsers and curl repeat the request over HTTP/1.1.
//
// That a log-in to proxies (407) would do the same is no business of ours.

// asksToBind reports whether an answer 401 asks for a log-in of the connection.
func asksToBind(h *http1.Head) bool {
	const name = "www-authenticate"
	for i := h.Lookup(name); i >= 0; i = h.LookupFrom(name, i+1) {
		for rest := h.Value(i); len(rest) > 0; {
			var challenge []byte
			// A comma within a parameter may make one more challenge of it: a
			// connection is kept apart in vain then.
			challenge, rest, _ = bytes.Cut(rest, []byte(","))
			if bindingScheme(challenge) {
				return true
			}
		}
	}
	return false
}

func bindingScheme(credentials []byte) bool {
	scheme, _, _ := bytes.Cut(bytes.TrimLeft(credentials, " \t"), []byte(" "))
	scheme = bytes.TrimRight(scheme, "\t")
	return bytes.EqualFold(scheme, []byte("ntlm")) || bytes.EqualFold(scheme, []byte("negotiate"))
}

// bind keeps the connection the exchange is on from others.
func (ex *exchange) bind() {
	ex.binds = true
	ex.up.Reserve()
}

// requireHTTP1 ends the exchange of a stream that cannot log in: see above. received is how
// much of the backend's answer has come.
func (ex *exchange) requireHTTP1(received int) {
	ex.countTaken(received, ex.w.loop.Now()-ex.sent)
	ex.note(rejected.Unauthorized, 401, "the backend asks for NTLM or Negotiate, which need HTTP/1.1")
	ex.stats().Responses[3]++
	ex.recordOwn(401, 0)
	cl := ex.client
	ex.End()
	cl.RequireHTTP1()
}

// takeKept gives the exchange a connection its client keeps for the service. It
// answers false when there is none, or none that can serve it.
func (ex *exchange) takeKept() bool {
	up := ex.peer.Kept().Take(ex.service.ID, ex, func(c *dial.Conn, id uint32) bool {
		i := ex.service.Find(id)
		if i < 0 {
			return false
		}
		ex.backend = &ex.service.Backends[i]
		return c.Fits(ex.destination()) && ex.Claim(ex.service, i)
	})
	if up == nil {
		return false
	}
	ex.binds = true // if the service does not say so it was a log-in that did
	ex.up, ex.Why = up, accesslog.WhyPin
	ex.await()
	ex.backendStats().Reuses++
	return true
}
