package loop

// Handler receives a connection's events. All methods run on the connection's loop. A
// handler may close this or any other connection of the loop at any time. No method is
// called for a connection after Close.
type Handler interface {
	// Readable means that Read may return bytes, an end or an error. It is called once
	// per edge. A handler that stops before Read returns ErrDry must resume reading on
	// its own when its reason to stop has passed, or call Conn.Wait. An accepted
	// connection is Readable once at the start.
	Readable(c *Conn)
	// Drained means that all bytes passed to Write have left, after Pending was not
	// zero.
	Drained(c *Conn)
	// Connected reports the outcome of Dial or Secure: nil, or the cause of the
	// failure. After a failure other than ErrPlain, Conn.Closed is true already and the
	// handler must drop its reference.
	Connected(c *Conn, err error)
	// Expired means that the deadline has passed. It is cleared before the call.
	Expired(c *Conn)
	// Failed means that the handler panicked. The connection is closed already and the
	// handler must drop its reference.
	Failed(c *Conn, err error)
}

// Counters holds pointers to a loop's counters, which may lie in shared memory. Only
// the loop writes them. Counters that are nil are not exposed.
type Counters struct {
	Events, Accepted, AcceptErrors, Panics *uint64
	// Handshakes of accepted connections: complete (resumed ones included), resumed,
	// failed, closed because too many waited; and connections that did not speak TLS.
	Handshakes, HandshakesResumed, HandshakesFailed, HandshakesRefused, PlainOnTLS *uint64
	// Handshakes of dialled connections: complete (resumed ones included), resumed.
	DialHandshakes, DialHandshakesResumed *uint64
}

// fill allocates the counters that are nil.
func (c *Counters) fill() {
	for _, p := range [...]**uint64{
		&c.Events, &c.Accepted, &c.AcceptErrors, &c.Panics,
		&c.Handshakes, &c.HandshakesResumed, &c.HandshakesFailed, &c.HandshakesRefused, &c.PlainOnTLS,
		&c.DialHandshakes, &c.DialHandshakesResumed,
	} {
		if *p == nil {
			*p = new(uint64)
		}
	}
}

// countShaken counts a complete handshake.
func (l *Loop) countShaken(dialled, resumed bool) {
	all, again := l.count.Handshakes, l.count.HandshakesResumed
	if dialled {
		all, again = l.count.DialHandshakes, l.count.DialHandshakesResumed
	}
	*all++
	if resumed {
		*again++
	}
}
