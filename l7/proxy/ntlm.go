package proxy

import (
	"bytes"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
)

// NTLM, and Negotiate if it falls back to NTLM or uses Kerberos, authenticate a connection
// instead of a request: later requests on it are that user's, whoever sent them. A
// connection on which such a login began is therefore reserved for its client, as with
// pinned services. HTTP/2 streams keep no connections. A backend connection that carried a
// login of a stream ends with the exchange; an HTTP/2 connection gets no more exchanges.
// Such logins need HTTP/1.1 on both sides. A stream whose backend asks for one is reset with
// HTTP_1_1_REQUIRED, and browsers and curl repeat the request over HTTP/1.1.
//
// Logins to proxies (407) have the same effect but are not handled here.

// asksToBind reports whether a 401 response asks for a login of the connection.
func asksToBind(h *http1.Head) bool {
	const name = "www-authenticate"
	for i := h.Lookup(name); i >= 0; i = h.LookupFrom(name, i+1) {
		for rest := h.Value(i); len(rest) > 0; {
			var challenge []byte
			// A comma within a parameter may produce an extra challenge. The connection is
			// then reserved needlessly.
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

// bind reserves the connection of the exchange.
func (ex *exchange) bind() {
	ex.binds = true
	ex.up.Reserve()
}

// requireHTTP1 ends the exchange of a stream that cannot log in, see above. received is the
// number of response bytes from the backend.
func (ex *exchange) requireHTTP1(received int) {
	ex.countTaken(received, ex.w.loop.Now()-ex.sending.began)
	ex.note(rejected.Unauthorized, 401, "the backend asks for NTLM or Negotiate, which need HTTP/1.1")
	ex.stats().Responses[3]++
	ex.record.generated(ex.w, ex.farm, 401, 0)
	cl := ex.client
	ex.End()
	cl.RequireHTTP1()
}

// takeKept takes a connection that the client keeps for the service. It returns false if
// there is no usable one.
func (ex *exchange) takeKept() bool {
	up := ex.peer.Kept().Take(ex.service.ID, ex, func(c *dial.Conn, id uint32) bool {
		i := ex.service.Find(id)
		if i < 0 {
			return false
		}
		ex.backend = &ex.service.Backends[i]
		return c.Fits(ex.destination()) && !(ex.once() && c.Departed()) && ex.choice.Claim(ex.service, i)
	})
	if up == nil {
		return false
	}
	ex.binds = true // unless the service is pinned, a login reserved it
	ex.up, ex.choice.Why = up, accesslog.WhyPin
	ex.load.await(ex.service, ex.backend)
	ex.backendStats().Reuses++
	return true
}
