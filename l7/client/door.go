package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// door is where the clients of a port come in on one loop.
type door struct {
	server   *Server
	port     *ports.Port
	listener *loop.Listener
	held     *state.ClientLimit // of the connection that is being accepted
	waits    bool               // in a queue
}

// Wake implements state.Door: it lets the door try again, on its loop.
func (d *door) Wake() { d.server.loop.Post(d.open) }

// open goes on accepting after there was no slot.
func (d *door) open() {
	d.waits = false
	d.listener.Resume()
}

// Enter implements loop.Gate. Clients of a farm that refuses those beyond its
// bound are let in to be told.
func (d *door) Enter() bool {
	f := d.server.table.Load().Farm(d.port)
	switch {
	case f == nil || f.ClientLimit == nil:
		return true
	case f.ClientLimit.Enter(f.MaxClients):
		d.held = f.ClientLimit
		return true
	case f.Refuses:
		return true
	case !d.waits && f.ClientLimit.Wait(d, f.MaxClients):
		d.held = f.ClientLimit
		return true
	}
	d.waits = true
	return false
}

// Leave implements loop.Gate.
func (d *door) Leave() {
	if d.held != nil {
		d.held.Leave()
		d.held = nil
	}
}

// admit gives the connection that was accepted its slot. full says that there
// is none.
func (d *door) admit(f *table.Farm) (held *state.ClientLimit, full bool) {
	held, d.held = d.held, nil
	switch {
	case held != nil || f.ClientLimit == nil:
	case f.Refuses && !f.ClientLimit.Enter(f.MaxClients):
		return nil, true
	case f.Refuses:
		held = f.ClientLimit
	default: // the bound was set since Enter
		f.ClientLimit.Occupy()
		held = f.ClientLimit
	}
	return held, false
}

// turnAway answers a client for whom there is no slot, as soon and as briefly
// as possible. With TLS there is nothing to say before a handshake.
func (s *Server) turnAway(f *table.Farm, c *loop.Conn) {
	st := s.shard.Farm(f.ID)
	st.Connections++
	st.Responses[4]++
	s.note(f.ID, rejected.TooManyClients, 503, f.Name, "as many clients as the farm may have", c.Peer())
	if f.TLS != nil {
		c.Abort()
		return
	}
	_, _ = c.Read(s.loop.In[:headRead]) // unread bytes would make a reset of the answer
	out := f.Answers.Append(s.loop.Scratch[:0], 503, false, true)
	st.BytesOut += uint64(len(out))
	if c.Write(out) != nil {
		c.Close()
		return
	}
	if c.Pending() != 0 || c.Readable() {
		c.Linger(lingerTime)
		return
	}
	c.CloseWrite()
	c.Close()
}

// occupy counts clients that came in before their farm had a bound.
func occupy(f *table.Farm, held **state.ClientLimit) {
	if f != nil && f.ClientLimit != nil && *held == nil {
		f.ClientLimit.Occupy()
		*held = f.ClientLimit
	}
}
