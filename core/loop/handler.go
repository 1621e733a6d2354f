package loop

// Handler is what a connection's events go to. All methods run on the
// connection's loop. A handler may close the connection, or any other of the
// same loop, at any time; no method is called for a connection after Close.
type Handler interface {
	// Readable says that Read is worth a try: bytes, an end or an error wait.
	// It is called once per edge: a handler that stops before Read returned
	// ErrDry must come back by itself: when its reason to stop is gone, or by
	// Conn.Wait. An accepted connection is Readable once at the start.
	Readable(c *Conn)
	// Drained says that everything handed to Write has left, after Pending
	// was not zero.
	Drained(c *Conn)
	// Connected reports the outcome of Dial or Secure: nil, or why it failed.
	// After a failure, unless it is ErrPlain, Conn.Closed holds already, and the
	// handler lets go of the connection.
	Connected(c *Conn, err error)
	// Expired says that the deadline passed. The deadline is unset then.
	Expired(c *Conn)
	// Failed says that the handler panicked. The connection is closed
	// already; the handler lets go of it.
	Failed(c *Conn, err error)
}

// Counters is where a loop counts; the fields may live in shared memory and
// are written by the loop alone. What is nil is counted nowhere.
type Counters struct {
	Events, Accepted, AcceptErrors, Panics *uint64
	// Handshakes of accepted connections: complete, of these resumed, failed,
	// closed because too many waited, and connections that did not speak TLS.
	Handshakes, HandshakesResumed, HandshakesFailed, HandshakesRefused, PlainOnTLS *uint64
	// Handshakes of dialled connections: complete, and of these resumed.
	DialHandshakes, DialHandshakesResumed *uint64
}

// fill gives every counter memory, those the owner of c leaves nil too.
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
