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

// Peer is a client's connection as exchanges know it, whatever is spoken there.
// Streams of HTTP/2 share one. Thousands wait for a request at a time: it is small.
type Peer struct {
	*protocol
	Conn   *loop.Conn
	FarmID uint32 // whose Established counts the connection

	began  bool // a first request head was complete
	port   *ports.Port
	server *Server
	h2     *h2Conn            // nil for HTTP/1
	limit  *state.ClientLimit // what it is counted in; nil without a bound
	kept   *dial.Kept         // see Kept
	shown  *[]byte            // see Certificate
}

// protocol is what differs with what a client speaks.
type protocol struct {
	Frames    bool            // it frames bodies itself
	FirstRead int             // how much of an answer is read before the client was asked for room
	Version   accesslog.Proto // what the record calls it; 0 where each request says so
}

var (
	speaksHTTP1 = &protocol{FirstRead: loop.ReadSize}
	speaksHTTP2 = &protocol{Frames: true, FirstRead: streamRead, Version: accesslog.ProtoHTTP2}
)

// Farm is the farm behind the client's port now; nil when there is none.
func (p *Peer) Farm() *table.Farm { return p.server.table.Load().Farm(p.port) }

// Stats are the counters of the farm the client came to.
func (p *Peer) Stats() *stats.Farm { return p.server.shard.Farm(p.FarmID) }

// Clock is the time of the event at hand on a clock all loops share; it is
// positive and is not set back when the system's is.
func (s *Server) Clock() int64 { return s.skew + s.loop.Now() }

// timeout is how long the client may take to say something. Where its farm is gone
// Reconcile ends what takes longer.
func (p *Peer) timeout() int64 {
	if f := p.Farm(); f != nil {
		return f.RequestTimeout
	}
	return int64(farm.DefaultStopGrace) * second / 2
}

// begin notes that the connection brought a request.
func (p *Peer) begin() {
	if !p.began {
		p.began = true
		p.Stats().Pending--
	}
}

// countOut counts the connection out.
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

// Note counts and writes down what the client is refused for. status is that of
// the answer, 0 without one; reason is a text of ours, never bytes of the client.
func (p *Peer) Note(class rejection.Class, status int, reason string) {
	w := p.server
	name := ""
	if f := w.table.Load().Farms[p.FarmID]; f != nil {
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

// Scheme is that of the URLs by which the client comes.
func (p *Peer) Scheme() []byte {
	if p.Conn.Secured() {
		return table.ProtoHTTPS
	}
	return table.ProtoHTTP
}

// Certificate is the field lines about the certificate of the client's
// connection, made once for it; empty without one.
//
// A farm whose clients show certificates may tell backends about them, by the
// fields of the product family. Where it asks for certificates, nobody else
// tells: what a client calls X-SSL-… goes no further, trusted or not.
func (p *Peer) Certificate() []byte {
	if p.shown == nil {
		lines := table.CertificateLines(p.Conn.TLS())
		p.shown = &lines
	}
	return *p.shown
}

// Kept is the connections to backends the client keeps, or its streams leave to
// each other; nil for none.
func (p *Peer) Kept() *dial.Kept { return p.kept }

// Keep is Kept where there is something to keep.
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

// Cork begins work in an event of a backend: what it writes for streams leaves at
// Uncork, or later with what others write in this turn. It reports whether there is
// something to uncork.
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
