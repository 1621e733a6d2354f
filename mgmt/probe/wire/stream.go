package wire

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// Server holds the settings for a TCP connection, with or without TLS. Most checks have
// these.
type Server struct {
	Host    probe.Host
	Port    probe.Port
	Version string
	Secure  bool
	TLS     TLS
}

// Flags declares -H, -4, -6, -S, --sni, --verify and the names of the port.
func (s *Server) Flags(f *probe.Flags, port string) {
	f.Host(&s.Host, "H hostname")
	f.Port(&s.Port, port)
	f.Version(&s.Version)
	f.Bool(&s.Secure, "S ssl")
	s.TLS.Flags(f, "")
	f.Times()
}

// Address returns the address of the server for a target.
func (s *Server) Address(to probe.Target) string { return probe.Address(s.Host, s.Port, to) }

// Authority returns the name and port of the server, in the format of a Host field.
func (s *Server) Authority(to probe.Target) string {
	port := s.Port
	if port == 0 {
		port = probe.Port(to.Port)
	}
	return net.JoinHostPort(probe.ServerName(s.Host, to), strconv.Itoa(int(port)))
}

// Config returns the TLS configuration for a target.
func (s *Server) Config(to probe.Target) *tls.Config { return s.TLS.For(s.Host, to) }

// Dial connects without TLS, for libraries that start TLS themselves.
func (s *Server) Dial(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (net.Conn, error) {
	c, err := s.dial(ctx, n, to, say)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (s *Server) dial(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (*Conn, error) {
	c, err := Open(ctx, n, "tcp"+s.Version, s.Address(to), Most)
	if err == nil {
		say("connected to %s", c.RemoteAddr())
	}
	return c, err
}

// Open connects, with TLS if Secure. The connection ends with ctx, and closing it closes
// both layers.
func (s *Server) Open(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (net.Conn, error) {
	c, err := s.dial(ctx, n, to, say)
	if err != nil {
		return nil, err
	}
	if !s.Secure {
		return c, nil
	}
	secured, err := s.TLS.Client(ctx, c, s.Host, to, say)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &stream{Heard(ctx, secured), c}, nil
}

// stream is a TLS connection whose Close does not wait for the peer. Close of crypto/tls
// sends an alert first, and the peer may not read.
type stream struct {
	net.Conn
	below *Conn
}

func (s *stream) Close() error { return s.below.Close() }

// Heard returns a TLS connection that records the bytes received through it.
func Heard(ctx context.Context, c net.Conn) net.Conn { return &heard{c, ctx} }

type heard struct {
	net.Conn
	ctx context.Context
}

// Read reads.
func (h *heard) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	probe.Heard(h.ctx, b[:n])
	return n, err
}
