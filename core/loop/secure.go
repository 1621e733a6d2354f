package loop

import (
	"bytes"
	"crypto/tls"
)

// secured is the TLS state of a connection. While the connection is idle it holds the
// keys and no buffer.
type secured struct {
	conn   *Conn
	tls    *tls.Conn
	shake  *handshake // nil once the handshake is complete
	agreed TLS

	fail error  // the error of Read once left has been read
	left []byte // plaintext that did not fit the reader's buffer; pooled
	read int    // bytes of left already read
	rest []byte // ciphertext of an incomplete record; pooled
	held []byte // plaintext held back for the next write; pooled

	want     int // free bytes in the reader's buffer
	answers  int // bytes of TLS responses (e.g. KeyUpdate) that the peer has not read
	finished bool
	notified bool // close_notify is sealed, or must not be sent
}

func newSecured(c *Conn, security Security, client bool) *secured {
	s := &secured{conn: c}
	s.shake = &handshake{s: s, security: security, client: client}
	return s
}

// agree records the parameters that the handshake negotiated.
func (s *secured) agree() {
	st := s.tls.ConnectionState()
	s.agreed = TLS{
		Version: st.Version, Cipher: st.CipherSuite, Curve: st.CurveID, Resumed: st.DidResume,
		Protocol: st.NegotiatedProtocol, ServerName: st.ServerName,
		Peer: st.PeerCertificates, Chains: st.VerifiedChains,
	}
}

// strip releases the buffers that the handshake grew. It returns flagReadable if there
// are bytes to read: a request often arrives with the last flight.
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

// catchUp performs writes and CloseWrite calls that were made during the handshake.
func (s *secured) catchUp() {
	c := s.conn
	if len(s.held) != 0 {
		_ = s.write(nil, false) // the next read reports a broken connection
	}
	if c.flags&flagShutdown != 0 && !s.notified {
		c.flags &^= flagShutdown
		c.CloseWrite()
	}
}

// unsecure turns the connection into a plain one. Everything to be sent encrypted has
// been sent.
func (c *Conn) unsecure() {
	c.secure.letGo()
	c.secure = nil
	c.flags &^= flagHandshake | flagReadable
	if c.flags&flagWet != 0 {
		c.flags |= flagReadable
	}
}

// letGo releases all buffers of s and aborts a handshake in progress.
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
