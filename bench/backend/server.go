package backend

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/sluicelb/sluice/bench/poll"
)

// Counters count the events of a backend.
type Counters struct {
	Accepted uint64 `json:"accepted"` // connections
	Open     int64  `json:"open"`     // connections now
	Requests uint64 `json:"requests"` // answered
	Refused  uint64 `json:"refused"`  // malformed requests and unknown paths
}

// Server is one listening backend. Its methods belong to one goroutine.
type Server struct {
	poll     *poll.Poller
	listener int
	port     uint16
	conns    []conn // by descriptor
	buf      []byte // shared by all connections; valid within one read
	answers  answers
	counters Counters
	done     bool
}

// conn is the state of one connection; between requests of well-behaved
// clients every field is zero but open and generation.
type conn struct {
	open       bool
	generation int32
	last       bool   // close after out is sent
	skip       int    // bytes of request body still to come
	owed       answer // sent when skip reaches 0
	part       []byte // incomplete head
	out        []byte // bytes not yet accepted by the socket
}

const (
	maxHead       = 64 << 10
	tokenListener = -1 // the listener
	tokenControl  = -2 // standard input
)

var errPipe = errors.New("pipelined request while an answer is still being sent")

// Listen opens a backend on an address; port 0 lets the kernel choose.
func Listen(on netip.AddrPort) (*Server, error) {
	p, err := poll.Open(512)
	if err != nil {
		return nil, err
	}
	s := &Server{poll: p, buf: make([]byte, 256<<10), answers: newAnswers()}
	if s.listener, err = poll.Listen(on); err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	if s.port, err = poll.Port(s.listener); err != nil {
		return nil, err
	}
	return s, p.AddReader(s.listener, tokenListener)
}

// Port returns the port of the backend.
func (s *Server) Port() uint16 { return s.port }

// Serve runs the loop. It calls report with the counters for each line on control, and
// ends with control.
func (s *Server) Serve(control int, report func(Counters)) error {
	if err := s.poll.AddReader(control, tokenControl); err != nil {
		return fmt.Errorf("backend: standard input cannot be polled (it must be a pipe): %w", err)
	}
	for !s.done {
		n, err := s.poll.Wait(-1)
		if err != nil {
			return err
		}
		for i := range n {
			s.event(s.poll.Event(i), control, report)
		}
	}
	return nil
}

func (s *Server) event(e poll.Event, control int, report func(Counters)) {
	switch e.Token {
	case tokenListener:
		s.accept()
	case tokenControl:
		var line [64]byte
		if n, err := syscall.Read(control, line[:]); n <= 0 && err != syscall.EINTR {
			s.done = true
			return
		}
		report(s.counters)
	default:
		c := &s.conns[e.Token]
		if !c.open || c.generation != e.Generation {
			return // an event for the connection that had this descriptor before
		}
		s.ready(int(e.Token), c, e.Bits)
	}
}

func (s *Server) accept() {
	for {
		fd, errno := poll.Accept(s.listener)
		if errno != 0 {
			return
		}
		for fd >= len(s.conns) {
			s.conns = append(s.conns, conn{})
		}
		c := &s.conns[fd]
		*c = conn{open: true, generation: c.generation + 1}
		if err := s.poll.Add(fd, int32(fd), c.generation); err != nil {
			c.open = false
			poll.Close(fd)
			continue
		}
		s.counters.Accepted++
		s.counters.Open++
	}
}

func (s *Server) ready(fd int, c *conn, bits uint32) {
	if bits&poll.Out != 0 && len(c.out) > 0 && !s.flush(fd, c) {
		return
	}
	if bits&(poll.In|poll.Closed) == 0 {
		return
	}
	for {
		n, errno := poll.Recv(fd, s.buf, 0)
		if errno == syscall.EAGAIN {
			return
		}
		if errno != 0 || n == 0 || s.take(fd, c, s.buf[:n]) != nil {
			s.drop(fd, c)
			return
		}
		if !c.open {
			return
		}
		// A short read drained the socket; only a close may remain.
		if n < len(s.buf) && bits&poll.Closed == 0 {
			return
		}
	}
}

// take consumes bytes from the client: body bytes, then heads.
func (s *Server) take(fd int, c *conn, b []byte) error {
	if len(c.part) > 0 {
		b = append(c.part, b...)
		c.part = nil
	}
	for len(b) > 0 && c.open {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip -= n
			b = b[n:]
			if c.skip == 0 {
				s.reply(fd, c, c.owed)
			}
			continue
		}
		end := bytes.Index(b, []byte("\r\n\r\n"))
		if end < 0 {
			if len(b) > maxHead {
				return errHead
			}
			c.part = append([]byte(nil), b...)
			return nil
		}
		if len(c.out) > 0 {
			return errPipe
		}
		s.request(fd, c, b[:end+4])
		b = b[end+4:]
	}
	return nil
}

func (s *Server) request(fd int, c *conn, head []byte) {
	r, err := parse(head)
	if err != nil {
		s.counters.Refused++
		c.last = true
		s.reply(fd, c, s.answers.refused)
		return
	}
	c.last = r.last
	a := s.answers.pick(r.path)
	if a.keep[9] != '2' { // the status after "HTTP/1.1 "
		s.counters.Refused++
	}
	if r.body > 0 {
		c.skip, c.owed = r.body, a
		return
	}
	s.reply(fd, c, a)
}

func (s *Server) reply(fd int, c *conn, a answer) {
	s.counters.Requests++
	c.out = a.bytes(c.last)
	s.flush(fd, c)
}

// flush sends pending bytes and reports whether the connection is still open.
func (s *Server) flush(fd int, c *conn) bool {
	for len(c.out) > 0 {
		n, errno := poll.Send(fd, c.out)
		if errno == syscall.EAGAIN {
			return true
		}
		if errno != 0 {
			s.drop(fd, c)
			return false
		}
		c.out = c.out[n:]
	}
	if c.last {
		s.drop(fd, c)
		return false
	}
	return true
}

func (s *Server) drop(fd int, c *conn) {
	if !c.open {
		return
	}
	*c = conn{generation: c.generation}
	s.counters.Open--
	poll.Close(fd)
}
