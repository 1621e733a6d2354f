package api

import (
	"bytes"
	"crypto/tls"
	"net"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/mgmt/gui"
)

// net/http rejects an address that it cannot parse (e.g. /gui/farms/%E0%A4%A) before any
// handler sees it, with a bare text. A browser is sent to a page of the GUI instead, which
// says that there is no such page and leads back.
var (
	pageAsked    = []byte("GET " + gui.Base)
	bareRefusal  = []byte("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request")
	toNoSuchPage = []byte("HTTP/1.1 302 Found\r\nLocation: " + gui.Base + "no-such-page\r\nCache-Control: no-cache, no-store\r\nX-Content-Type-Options: nosniff\r\n" +
		"Content-Length: 0\r\nConnection: close\r\n\r\n")
)

// secured accepts TLS connections that recognise requests for pages.
type secured struct {
	net.Listener
	config *tls.Config
}

// newSecured returns a listener for HTTP/1 over TLS.
func newSecured(l net.Listener, config *tls.Config) *secured {
	config = config.Clone()
	config.NextProtos = slices.DeleteFunc(slices.Clone(config.NextProtos), func(p string) bool { return p == "h2" })
	return &secured{l, config}
}

// Accept returns the next connection. The server performs the handshake.
func (s *secured) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &securedConn{Conn: tls.Server(c, s.config)}, nil
}

// securedConn is a TLS connection of HTTP/1. The page is set if the bytes read last begin
// with a request for a page.
type securedConn struct {
	*tls.Conn
	page atomic.Bool
}

// Read implements net.Conn.
func (c *securedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.page.Store(bytes.HasPrefix(p[:n], pageAsked))
	return n, err
}

// Write implements net.Conn.
func (c *securedConn) Write(p []byte) (int, error) {
	if !c.page.Load() || !bytes.Equal(p, bareRefusal) {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(toNoSuchPage); err != nil {
		return 0, err
	}
	return len(p), nil
}
