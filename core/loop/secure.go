package loop

import (
	"bytes"
	"crypto/tls"
)

// secured is what makes a connection secure. While it waits it holds the keys
// and no buffer.
type secured struct {
	conn   *Conn
	tls    *tls.Conn
	shake  *handshake // nil once the handshake is complete
	agreed TLS

	fail error  // what Read ends with, once left is read
	left []byte // plaintext that did not fit the reader's buffer; pooled
	read int    // of left
	rest []byte // ciphertext that waits for the rest of its record; pooled
	held []byte // plaintext that waits for what is written next; pooled

	want     int // what the reader has room for
	answers  int // bytes of answers to the peer's housekeeping it has not taken
	finished bool
	notified bool // close_notify is sealed, or there is no use in it
}

func newSecured(c *Conn, security Security, client bool) *secured {
	s := &secured{conn: c}
	s.shake = &handshake{s: s, security: security, client: client}
	return s
}

// agree takes down what the handshake agreed on.
func (s *secured) agree() {
	st := s.tls.ConnectionState()
	s.agreed = TLS{
		Version: st.Version, Cipher: st.CipherSuite, Curve: st.CurveID, Resumed: st.DidResume,
		Protocol: st.NegotiatedProtocol, ServerName: st.ServerName,
		Peer: st.PeerCertificates, Chains: st.VerifiedChains,
	}
}

// strip takes the buffers the handshake grew and reports flagReadable if there
// is something to read: often a request came with the last flight.
func (s *secured) strip() flags {
	if !inside.found {
		return flagReadable
	}
	if hand := handOf(s.tls); hand.Len() == 0 {
		*hand = bytes.Buffer{}
	}
	raw := rawOf(s.tls)
	s.park(raw.Bytes())
	*raw = bytes.Buffer{}
	if s.rest != nil || s.conn.flags&flagWet != 0 {
		return flagReadable
	}
	return 0
}

// catchUp does what was asked for before the handshake was complete.
func (s *secured) catchUp() {
	c := s.conn
	if len(s.held) != 0 {
		_ = s.write(nil, false) // a broken connection is learned by reading
	}
	if c.flags&flagShutdown != 0 && !s.notified {
		c.flags &^= flagShutdown
		c.CloseWrite()
	}
}

// unsecure makes the connection a plain one; what was to be said under
// protection has been said.
func (c *Conn) unsecure() {
	c.secure.letGo()
	c.secure = nil
	c.flags &^= flagHandshake | flagReadable
	if c.flags&flagWet != 0 {
		c.flags |= flagReadable
	}
}

// letGo gives back all that s holds and ends a handshake under way.
func (s *secured) letGo() {
	if h := s.shake; h != nil {
		s.conn.loop.shakes.leave(h)
		if h.job != nil {
			h.job.cancel()
			h.job = nil
		}
		h.dead = true
		h.end()
	}
	buffers := &s.conn.loop.Buffers
	for _, b := range [...]*[]byte{&s.left, &s.rest, &s.held} {
		if *b != nil {
			buffers.Put(*b)
			*b = nil
		}
	}
}
