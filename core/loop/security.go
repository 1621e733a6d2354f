package loop

import (
	"crypto/tls"
	"crypto/x509"
)

// Security configures TLS for a connection. The zero value disables it.
type Security struct {
	// Config is shared by all connections and loops and is read-only; it must have been
	// passed to Prepare. Its callbacks run on the loop and must neither block nor read
	// files. A Config that verifies servers needs RootCAs: without them crypto/tls
	// reads the system's roots from files.
	Config *tls.Config
	// ServerName is the SNI sent to a dialled server. The certificate is verified
	// against it unless Config says otherwise. Empty uses the name in Config; a
	// different name costs a copy of Config per connection. Config.ClientSessionCache
	// is keyed by this name, so servers that share a name need separate caches.
	ServerName string
}

// named returns Config with ServerName set. It is a copy if the name differs.
func (s Security) named() *tls.Config {
	if s.ServerName == "" || s.ServerName == s.Config.ServerName {
		return s.Config
	}
	config := s.Config.Clone()
	config.ServerName = s.ServerName
	return config
}

// TLS holds the parameters that a handshake negotiated.
type TLS struct {
	Version uint16 // a tls.VersionTLS constant
	Cipher  uint16 // see tls.CipherSuiteName
	Curve   tls.CurveID
	Resumed bool // with a ticket of an earlier connection
	// Protocol is the protocol selected by ALPN (RFC 7301), or empty.
	Protocol string
	// ServerName is the SNI sent by the client (RFC 6066, section 3), or empty.
	ServerName string
	// Peer is the peer's certificate chain, leaf first. It is verified only if the
	// configuration requires it.
	Peer []*x509.Certificate
	// Chains are the verified chains from Peer[0] to a trusted authority. They are
	// empty if the configuration does not verify.
	Chains [][]*x509.Certificate
}

// Secure starts TLS on an accepted connection. It is called in the Acceptor after the
// handler is set and before any Read. It may also be called later if only Peek and Skip
// have consumed bytes; Proceed must follow then.
//
// The handler's Connected reports the outcome. nil means that reads and writes are
// plaintext from now on. ErrPlain means that the first byte does not begin a TLS
// handshake; the connection stays open and plain, with its bytes unread. io.EOF means
// that the client closed without sending anything. With any other error the handshake
// failed, and the connection is closed.
//
// Readable and Drained are not called before Connected. Expired is, so a deadline
// bounds the handshake.
func (c *Conn) Secure(s Security) {
	c.secure = newSecured(c, s, false)
	c.flags |= flagHandshake
	if c.flags&flagReadable != 0 {
		c.flags |= flagWet
	}
}

// TLS returns the negotiated parameters, which are read-only. It returns nil for a
// plain connection, before the end of the handshake and after Close.
func (c *Conn) TLS() *TLS {
	if c.secure == nil || c.secure.shake != nil {
		return nil
	}
	return &c.secure.agreed
}

// Truncated reports whether the peer of a secure connection ended its direction without
// close_notify (RFC 8446, section 6.1). Read returned io.EOF, but a third party may
// have cut the connection. HTTP detects incomplete messages itself unless the end of
// the connection delimits the body.
func (c *Conn) Truncated() bool { return c.secure != nil && c.secure.finished }
