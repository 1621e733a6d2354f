package wire

import (
	"context"
	"net"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// Server is where a check connects to by TCP, with TLS or without: what most of them
// have in common.
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

// Address is where that is for a target.
func (s *Server) Address(to probe.Target) string { return probe.Address(s.Host, s.Port, to) }

// Open connects, with TLS where the check wants it. What is returned ends with ctx and
// closes as a whole.
func (s *Server) Open(ctx context.Context, n probe.Network, to probe.Target, say probe.Say) (net.Conn, error) {
	c, err := Open(ctx, n, "tcp"+s.Version, s.Address(to), Most)
	if err != nil {
		return nil, err
	}
	say("connected to %s", c.RemoteAddr())
	if !s.Secure {
		return c, nil
	}
	secured, err := s.TLS.Client(ctx, c, s.Host, to, say)
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &stream{secured, c}, nil
}

// stream is TLS whose end does not wait for the peer: Close of crypto/tls tells the peer
// first, which may not read.
type stream struct {
	net.Conn
	below *Conn
}

func (s *stream) Close() error { return s.below.Close() }
