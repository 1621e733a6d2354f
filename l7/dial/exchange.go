package dial

// What an exchange does with a connection it has to itself. Where a backend
// speaks HTTP/2 a stream does the same, see l7/backend: bodies are framed there,
// here they come framed.

// Send sends a request: its head and what has come of its body, framed.
func (c *Conn) Send(b []byte, _ bool, _ []byte) error { return c.Write(b) }

// SendBody sends more of the body, and the trailer behind its last bytes.
func (c *Conn) SendBody(p []byte, _ bool, trailer []byte) error {
	err := c.Write(p)
	if err == nil && len(trailer) > 0 {
		err = c.Write(trailer)
	}
	return err
}

// Complete reports whether the whole answer has come, where that is known
// without its framing: on a connection of HTTP/1 it never is.
func (c *Conn) Complete() bool { return false }

// Trailers are those of an answer that comes without chunks; see Complete.
func (c *Conn) Trailers() []byte { return nil }

// Finish ends the use of the connection after a complete answer. whole tells that
// nothing of the exchange is left on it, so that it may carry another.
func (c *Conn) Finish(whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	c.pool.Put(c)
}

// FinishFor is Finish for a connection that is one client's from now on.
func (c *Conn) FinishFor(k *Kept, service uint32, whole bool) {
	if !whole || c.Pending() != 0 {
		c.Discard()
		return
	}
	k.put(c, service)
}

// Reserve keeps the connection from others: here nobody shares it.
func (c *Conn) Reserve() {}
