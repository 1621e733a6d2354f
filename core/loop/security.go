package loop

import (
	"crypto/tls"
	"crypto/x509"
)

// Security is how a connection speaks TLS. The zero value asks for none.
type Security struct {
	// Config is shared by all connections and loops and does not change any
	// more; Prepare made it fit. Its callbacks run on the loop: they look up,
	// and neither wait nor read files. So do verifications: a Config that
	// verifies servers has RootCAs, or the system's would be read from files.
	Config *tls.Config
	// ServerName is the name a dialled server is asked for, and its certificate
	// checked against unless Config says otherwise; empty leaves it to Config.
	// A name other than Config's costs a copy of Config for each connection.
	// Sessions are resumed by Config.ClientSessionCache, which knows servers by
	// this name: servers that share one are better kept apart.
	ServerName string
}

// named is Config for ServerName.
func (s Security) named() *tls.Config {
	if s.ServerName == "" || s.ServerName == s.Config.ServerName {
		return s.Config
	}
	config := s.Config.Clone()
	config.ServerName = s.ServerName
	return config
}

// TLS is what a handshake agreed on.
type TLS struct {
	Version uint16 // tls.VersionTLS10 …
	Cipher  uint16 // tls.CipherSuiteName tells its name
	Curve   tls.CurveID
	Resumed bool // by a ticket of an earlier connection
	// Protocol is the one chosen by ALPN (RFC 7301), empty when none was.
	Protocol string
	// ServerName is the name the client asked for (RFC 6066, section 3), empty
	// when it named none.
	ServerName string
	// Peer is the certificates the other side showed, its own first. They are
	// verified only if the configuration asks for that.
	Peer []*x509.Certificate
	// Chains are the ways from Peer[0] to a trusted authority, empty when the
	// configuration does not verify.
	Chains [][]*x509.Certificate
}

// Secure makes an accepted connection speak TLS: call it in the Acceptor,
// where the handler is set, before anything is read; or later, if all that was
// taken before is what Peek and Skip did, and go on with Proceed. The handler's Connected
// then hears how it went: nil, and everything read and written from then on is
// plaintext; ErrPlain, and the connection is open as it was, with all its
// bytes unread, because they do not begin a TLS handshake; io.EOF when the client
// left without a word; or why the handshake failed, and the connection is gone.
// Readable and Drained are not called before that; Expired is, so that a
// deadline bounds the handshake.
func (c *Conn) Secure(s Security) {
	c.secure = newSecured(c, s, false)
	c.flags |= flagHandshake
	if c.flags&flagReadable != 0 {
		c.flags |= flagWet
	}
}

// TLS returns what the handshake agreed on; nil for a plain connection, before
// the handshake is over and after Close. It is read-only.
func (c *Conn) TLS() *TLS {
	if c.secure == nil || c.secure.shake != nil {
		return nil
	}
	return &c.secure.agreed
}

// Truncated reports whether the peer of a secure connection ended its direction
// without saying so under the protection of TLS (close_notify, RFC 8446,
// section 6.1): Read ended with io.EOF, and somebody else may have cut the
// connection. HTTP can tell by itself whether a message is whole, unless only
// the end of the connection ends it.
func (c *Conn) Truncated() bool { return c.secure != nil && c.secure.finished }
