package client

import (
	"os"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// second is a second of the loops' clocks.
const second = int64(time.Second)

// Config holds the parameters of a Server. They belong to its loop, except the table and the
// penalties, which loops share.
type Config struct {
	Loop       *loop.Loop
	Handler    Handler
	Request    *http1.Request // target for parsing the current request
	Table      *atomic.Pointer[table.Table]
	Shard      *stats.Shard
	Rejections *rejection.Recorder
	Penalties  *Penalties
}

// Server serves one loop's clients.
type Server struct {
	loop       *loop.Loop
	handler    Handler
	request    *http1.Request
	table      *atomic.Pointer[table.Table]
	shard      *stats.Shard
	rejections *rejection.Recorder
	penalties  *Penalties

	listeners map[*ports.Port]*loop.Listener
	conns     *loop.FreeList[h1Conn]
	header    proxyproto.Parser // for PROXY headers that arrive in one piece

	shared  *http2.Shared          // nil before the first HTTP/2 connection,
	streams *loop.FreeList[stream] // like these two
	frames  []byte
	// refusedBefore holds the HTTP/2 refusals at the previous learn.
	refusedBefore []uint64
	skew          int64 // offset from the loop's clock to the shared one
}

// NewServer returns a server without listeners.
func NewServer(c Config) *Server {
	return &Server{
		loop: c.Loop, handler: c.Handler, request: c.Request, table: c.Table,
		shard: c.Shard, rejections: c.Rejections, penalties: c.Penalties,
		listeners: map[*ports.Port]*loop.Listener{},
		conns:     loop.NewFreeList[h1Conn](c.Loop),
		skew:      state.Clock(c.Loop.Time(0)),
	}
}

// http2 returns the state shared by the loop's HTTP/2 connections.
func (s *Server) http2() *http2.Shared {
	if s.shared == nil {
		s.shared = http2.NewShared(http2.ServerLimits(), &s.loop.Buffers, s.loop.Now)
		s.frames = make([]byte, framesRead)
		s.streams = loop.NewFreeList[stream](s.loop)
		s.refusedBefore = make([]uint64, len(http2.Errors()))
	}
	return s.shared
}

// Post implements ports.Side, like the next three methods.
func (s *Server) Post(fn func()) { s.loop.Post(fn) }

// Listen serves a socket of a port.
func (s *Server) Listen(p *ports.Port, file *os.File) error {
	d := &door{server: s, port: p}
	ln, err := s.loop.Listen(file, func(c *loop.Conn) { s.accept(d, c) })
	if err != nil {
		return err
	}
	d.listener = ln
	ln.Guard(d)
	if err := ln.Defer(); err != nil {
		ln.Close()
		return err
	}
	s.listeners[p] = ln
	return nil
}

// Unlisten closes the socket of a port.
func (s *Server) Unlisten(p *ports.Port) {
	if ln := s.listeners[p]; ln != nil {
		ln.Close()
		delete(s.listeners, p)
	}
}

// Socket returns a duplicate of the socket of a port.
func (s *Server) Socket(p *ports.Port) (*os.File, error) {
	ln := s.listeners[p]
	if ln == nil {
		return nil, os.ErrNotExist
	}
	return ln.File()
}

// accept serves a new client of the farm behind a door.
func (s *Server) accept(d *door, c *loop.Conn) {
	f := s.table.Load().On(d.port)
	if f == nil {
		d.Leave()
		c.Close()
		return
	}
	held, full := d.admit(f)
	if full {
		s.turnAway(f, c)
		return
	}
	cl := s.conns.Get()
	*cl = h1Conn{Peer: Peer{protocol: speaksHTTP1, Conn: c, FarmID: f.ID, server: s, port: d.port, limit: held}}
	c.SetHandler(cl)
	switch cl.proxyHeader.Expected = proxyproto.Expect(f.ProxyIn, f.Trusted, c.Peer().Addr()); {
	case cl.proxyHeader.Expected != proxyproto.Nothing: // comes before TLS
	case f.TLS != nil:
		c.Secure(f.TLS.Security)
	}
	st := s.shard.Farm(f.ID)
	st.Connections++
	st.Established++
	st.Pending++
	c.SetDeadline(s.loop.Now() + f.RequestTimeout)
}

// conn is a client's connection of either protocol.
type conn interface {
	loop.Handler
	From() *Peer
	// exchanges calls fn for each exchange in progress.
	exchanges(fn func(Exchange))
	// reconcile adapts the connection to a new table, after its exchanges. forceClose ends
	// it with its exchanges.
	reconcile(t *table.Table)
	forceClose()
}

// each calls fn for every connection.
func (s *Server) each(fn func(conn)) {
	s.loop.Each(func(c *loop.Conn) {
		if cl, ok := c.Handler().(conn); ok {
			fn(cl)
		}
	})
}

// Exchanges calls fn for every exchange in progress.
func (s *Server) Exchanges(fn func(Exchange)) {
	s.each(func(c conn) { c.exchanges(fn) })
}

// CutOff ends the exchanges with some backends and returns their number. Kept connections to
// these backends are closed.
func (s *Server) CutOff(from func(backend uint32) bool) (ended int) {
	s.Exchanges(func(ex Exchange) {
		if ex.CutOff(from) {
			ended++
		}
	})
	s.each(func(c conn) { c.From().Kept().Drop(from) })
	return ended
}

// Reconcile adapts clients to the current table. For ports whose grace is over, it ends the
// remaining connections of deleted farms.
func (s *Server) Reconcile(over map[*ports.Port]bool) {
	t := s.table.Load()
	s.CutOff(t.Cut)
	s.each(func(c conn) {
		p := c.From()
		occupy(t.ByID[p.FarmID], &p.limit)
		c.reconcile(t)
	})
	if len(over) == 0 {
		return
	}
	s.each(func(c conn) {
		if p := c.From(); over[p.port] && p.Farm() == nil {
			c.forceClose()
		}
	})
}

// Busy implements engine.Worker. A connection whose last response is in flight has no
// handler any more.
func (s *Server) Busy() (n int) {
	s.loop.Each(func(c *loop.Conn) {
		switch c.Handler().(type) {
		case conn, nil:
			n++
		}
	})
	return n
}
