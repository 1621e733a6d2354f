package client

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/core/rejection"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// Peer is a client's connection in either protocol. HTTP/2 streams share one. It is small,
// because thousands wait for a request at a time.
type Peer struct {
	*protocol
	Conn   *loop.Conn
	FarmID uint32 // farm whose Established counts the connection

	began  bool // the first request head was complete
	port   *ports.Port
	server *Server
	h2     *h2Conn            // nil for HTTP/1
	limit  *state.ClientLimit // limit that counts it; nil without one
	kept   *dial.Kept         // see Kept
	shown  *[]byte            // see Certificate
}

// protocol holds the differences between the protocols.
type protocol struct {
	Frames    bool            // it frames bodies itself
	FirstRead int             // size of the first read of a response, before Room is called
	Version   accesslog.Proto // version in records; 0 if each request states it
}

var (
	speaksHTTP1 = &protocol{FirstRead: loop.ReadSize}
	speaksHTTP2 = &protocol{Frames: true, FirstRead: streamRead, Version: accesslog.ProtoHTTP2}
)

// Farm returns the current farm of the client's port, or nil.
func (p *Peer) Farm() *table.Farm { return p.server.table.Load().On(p.port) }

// Stats returns the counters of the client's farm.
func (p *Peer) Stats() *stats.Farm { return p.server.shard.Farm(p.FarmID) }

// Clock returns the time of the current event on a clock shared by all loops. It is positive
// and monotonic.
func (s *Server) Clock() int64 { return s.skew + s.loop.Now() }

// timeout returns the client's timeout. If its farm is gone, Reconcile ends connections that
// take longer.
func (p *Peer) timeout() int64 {
	if f := p.Farm(); f != nil {
		return f.RequestTimeout
	}
	return int64(farm.DefaultStopGrace) * second / 2
}

// begin records the first request of the connection.
func (p *Peer) begin() {
	if !p.began {
		p.began = true
		p.Stats().Pending--
	}
}

// countOut removes the connection from the counters.
func (p *Peer) countOut() {
	s := p.Stats()
	s.Established--
	if !p.began {
		s.Pending--
	}
	if p.limit != nil {
		p.limit.Leave()
	}
}

// Note counts and logs a refusal. status is that of the response, or 0 without one. reason
// is a fixed text, never bytes of the client.
func (p *Peer) Note(class rejection.Class, status int, reason string) {
	w := p.server
	name := ""
	if f := w.table.Load().ByID[p.FarmID]; f != nil {
		name = f.Name
	}
	w.note(p.FarmID, class, status, name, reason, p.Conn.Peer())
}

func (s *Server) note(farm uint32, class rejection.Class, status int, name, reason string, client netip.AddrPort) {
	s.shard.Rejections(farm)[class]++
	s.rejections.Add(s.loop.Now(), rejection.Event{
		Class: class, Status: uint16(status), Farm: name, Reason: reason, Client: client,
	})
}

// Scheme returns the scheme of the client's URLs.
func (p *Peer) Scheme() []byte {
	if p.Conn.Secured() {
		return table.ProtoHTTPS
	}
	return table.ProtoHTTP
}

// Certificate returns the field lines about the client's certificate, computed once per
// connection; empty without one.
//
// A farm may report client certificates to backends in the X-SSL fields known from Zevenet.
// Such a farm drops all X-SSL-… fields of clients, trusted or not.
func (p *Peer) Certificate() []byte {
	if p.shown == nil {
		lines := table.CertificateLines(p.Conn.TLS())
		p.shown = &lines
	}
	return *p.shown
}

// Kept returns the backend connections reserved for the client or shared by its streams; it
// may be nil.
func (p *Peer) Kept() *dial.Kept { return p.kept }

// Keep is Kept, created if necessary.
func (p *Peer) Keep() *dial.Kept {
	switch {
	case p.kept != nil:
	case p.h2 != nil:
		p.kept = dial.NewSharedKept(p.Conn)
	default:
		p.kept = dial.NewKept(p.Conn)
	}
	return p.kept
}

// Cork begins work in a backend event. Output for streams is sent at Uncork, or later
// together with other output of this turn. It reports whether Uncork has work.
func (p *Peer) Cork() bool {
	if p.h2 == nil || p.h2.busy {
		return false
	}
	p.h2.busy = true
	return true
}

// Uncork ends Cork.
func (p *Peer) Uncork(corked bool) {
	if corked {
		p.h2.uncork()
	}
}
