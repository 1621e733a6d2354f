package proxy

import "github.com/sluicelb/sluice/l7/dial"

// Streams come and go, so they keep no connection for themselves: one on which
// their client was announced stays with the client's connection, for the
// streams that follow. Others of pinned services end with their stream; what a
// backend has bound to them is for one exchange.

const (
	// maxPins bounds the connections that are kept so.
	maxPins = 32
	// pinTime is how long each is: below the keep-alive time-outs servers
	// commonly use.
	pinTime = 30 * second
)

// yield leaves the connection a stream's client keeps to the streams that
// follow, or closes it.
func (cl *client) yield() {
	p, m := cl.pin, cl.stream.mux
	if p == nil || p.up == nil || !p.up.Announced() || m.conn == nil || len(m.pins) == maxPins {
		cl.unpin()
		return
	}
	cl.pin, p.client = nil, nil
	p.up.SetDeadline(cl.w.loop.Now() + pinTime)
	p.up.Hand((*spare)(p))
	p.mux = m
	m.pins = append(m.pins, p)
}

// adopt gives a stream's client a connection that was left by another for the
// service. It reports whether there was one.
func (cl *client) adopt(service uint32) bool {
	m := cl.stream.mux
	for i := len(m.pins) - 1; i >= 0; i-- {
		if p := m.pins[i]; p.service == service {
			m.remove(i)
			cl.pin, p.client, p.mux = p, cl, nil
			return true
		}
	}
	return false
}

// remove takes a connection out of those that are kept.
func (m *multiplex) remove(i int) {
	last := len(m.pins) - 1
	m.pins[i], m.pins[last] = m.pins[last], nil
	m.pins = m.pins[:last]
}

// unpin closes the connections that are kept, those drop says yes to.
func (m *multiplex) unpin(drop func(p *pin) bool) {
	for i := len(m.pins) - 1; i >= 0; i-- {
		if p := m.pins[i]; drop(p) {
			m.remove(i)
			p.up.Discard()
		}
	}
}

// spare is a pin that no client has now: its connection ends when the backend
// says anything, or nobody wants it for too long.
type spare pin

func (s *spare) end() {
	m := s.mux
	defer m.conn.Contain()
	m.unpin(func(p *pin) bool { return p == (*pin)(s) })
}

// BackendReadable implements dial.Owner.
func (s *spare) BackendReadable(*dial.Conn) { s.end() }

// BackendExpired implements dial.Owner.
func (s *spare) BackendExpired(*dial.Conn) { s.end() }

// BackendFailed implements dial.Owner: the connection is gone already.
func (s *spare) BackendFailed(*dial.Conn, error) {
	m := s.mux
	for i, p := range m.pins {
		if p == (*pin)(s) {
			m.remove(i)
			return
		}
	}
}

// BackendDrained implements dial.Owner; nothing was pending.
func (s *spare) BackendDrained(*dial.Conn) {}

// BackendConnected implements dial.Owner; the connection stands.
func (s *spare) BackendConnected(*dial.Conn, error) {}
