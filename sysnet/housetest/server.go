package housetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Seen is the record of a connection or datagram at a server.
type Seen struct {
	Server   string         // its name
	Network  string         // "tcp" or "udp"
	From, To netip.AddrPort // addresses of the packets on arrival
}

// Server responds on TCP and UDP ports of a namespace, at every address. On a connection it
// first writes a line with its observations, then echoes everything. The response to a
// datagram is such a line followed by the datagram.
type Server struct {
	Name string
	In   *Namespace
	mu   sync.Mutex
	seen []Seen
	open map[net.Conn]struct{}
	// Connections and Datagrams count arrivals.
	Connections, Datagrams atomic.Int64
}

// Server starts a server on the ports, until the test ends.
func (n *Namespace) Server(name string, ports ...int) *Server {
	n.t.Helper()
	s := &Server{Name: name, In: n, open: map[net.Conn]struct{}{}}
	for _, port := range ports {
		l := n.Listen("tcp", fmt.Sprintf("[::]:%d", port))
		go s.accept(l)
		c := n.ListenPacket("udp", fmt.Sprintf("[::]:%d", port)).(*net.UDPConn)
		if err := tellDestination(c); err != nil {
			n.t.Fatalf("%s: %v", n.Name, err)
		}
		_ = c.SetReadBuffer(4 << 20)
		go s.answer(c, uint16(port))
	}
	n.t.Cleanup(s.Drop)
	return s
}

// Seen returns the arrivals since the last call.
func (s *Server) Seen() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// Drop closes all open connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		_ = c.Close()
	}
}

func (s *Server) note(network string, from, to netip.AddrPort) Seen {
	seen := Seen{s.Name, network, plainAddr(from), plainAddr(to)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, seen)
	return seen
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.Connections.Add(1)
		s.mu.Lock()
		s.open[c] = struct{}{}
		s.mu.Unlock()
		go s.serve(c)
	}
}

func (s *Server) serve(c net.Conn) {
	defer func() {
		s.mu.Lock()
		delete(s.open, c)
		s.mu.Unlock()
		_ = c.Close()
	}()
	seen := s.note("tcp", c.RemoteAddr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort())
	if _, err := io.WriteString(c, seen.line()); err != nil {
		return
	}
	_, _ = io.Copy(c, c)
}

func (s *Server) answer(c *net.UDPConn, port uint16) {
	b, control := make([]byte, 65536), make([]byte, 256)
	for {
		n, nc, _, from, err := c.ReadMsgUDPAddrPort(b, control)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // an ICMP error about a response
		}
		s.Datagrams.Add(1)
		to := destination(control[:nc])
		seen := s.note("udp", from, netip.AddrPortFrom(to, port))
		_, _, _ = c.WriteMsgUDPAddrPort(append([]byte(seen.line()), b[:n]...), source(to), from)
	}
}

// line encodes a Seen: "b1 tcp 10.10.1.2:4711 10.10.2.11:80\n".
func (s Seen) line() string {
	return fmt.Sprintf("%s %s %s %s\n", s.Server, s.Network, s.From, s.To)
}

func parseSeen(line string) (s Seen, err error) {
	fields := strings.Fields(line)
	if len(fields) != 4 {
		return s, fmt.Errorf("no answer of a server: %q", line)
	}
	s.Server, s.Network = fields[0], fields[1]
	if s.From, err = netip.ParseAddrPort(fields[2]); err != nil {
		return s, err
	}
	s.To, err = netip.ParseAddrPort(fields[3])
	return s, err
}

func plainAddr(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// tellDestination enables reception of the destination address of datagrams. A dual-stack
// socket reports IPv4 destinations in IPv6 form.
func tellDestination(c syscall.Conn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
	if err != nil {
		return err
	}
	return failed
}
