package proxy

import (
	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/l7/dial"
)

// pin is a backend connection that a client of a pinned service keeps between
// its exchanges: what the backend has bound to the connection (an NTLM log-in)
// stays with that client, and nobody else ever gets the connection.
type pin struct {
	client  *client    // nil while it is left to
	mux     *multiplex // this one's next stream
	up      *dial.Conn // nil during an exchange, and when it is gone
	service uint32
	backend uint32
}

// pinTo keeps the connection of an exchange that is complete.
func (cl *client) pinTo(up *dial.Conn, service, backend uint32) {
	cl.unpin()
	if up.Conn.Readable() {
		up.Discard() // its end, or bytes nobody asked for
		return
	}
	if cl.pin == nil {
		cl.pin = &pin{client: cl}
	}
	cl.pin.up, cl.pin.service, cl.pin.backend = up, service, backend
	up.SetDeadline(0) // it lives as long as the client
	up.Hand(cl.pin)
}

// unpin closes the connection the client keeps, if there is one.
func (cl *client) unpin() {
	if cl.pin == nil || cl.pin.up == nil {
		return
	}
	up := cl.pin.up
	cl.pin.up = nil
	up.Discard()
}

// takePin gives the exchange the connection its client keeps. It answers false
// when there is none, or none that can serve it.
func (ex *exchange) takePin() bool {
	for !ex.fresh && ex.client.stream != nil && ex.client.adopt(ex.service.id) {
		if ex.takeOwn() {
			return true
		}
	}
	return ex.takeOwn()
}

// takeOwn is takePin for the connection the client has.
func (ex *exchange) takeOwn() bool {
	p := ex.client.pin
	if p == nil || p.up == nil {
		return false
	}
	i := ex.service.find(p.backend)
	fits := p.service == ex.service.id && i >= 0
	if fits {
		ex.backend = &ex.service.backends[i]
		fits = p.up.Fits(ex.destination()) && ex.claim(i)
	}
	if !fits {
		ex.client.unpin()
		return false
	}
	ex.binds = true // if the service does not say so it was a log-in that did
	p.up.Hand(ex)
	ex.up, p.up, ex.why = p.up, nil, accesslog.WhyPin
	ex.await()
	ex.backendStats().Reuses++
	return true
}

// BackendReadable implements dial.Owner: whatever a backend says between
// exchanges makes the connection useless.
func (p *pin) BackendReadable(*dial.Conn) {
	defer p.client.conn.Contain()
	p.client.unpin()
}

// BackendFailed implements dial.Owner.
func (p *pin) BackendFailed(*dial.Conn, error) { p.up = nil }

// BackendExpired implements dial.Owner; there is no deadline.
func (p *pin) BackendExpired(*dial.Conn) {}

// BackendDrained implements dial.Owner; nothing was pending.
func (p *pin) BackendDrained(*dial.Conn) {}

// BackendConnected implements dial.Owner; the connection stands.
func (p *pin) BackendConnected(*dial.Conn, error) {}
