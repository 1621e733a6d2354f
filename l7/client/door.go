package client

import (
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/l7/refused"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// door is where the clients of a port come in on one loop.
type door struct {
	server   *Server
	port     *ports.Port
	listener *loop.Listener
	held     *state.Places // of the connection that is being accepted
	waits    bool          // in a queue
}

// Wake implements state.Door: it lets the door try again, on its loop.
func (d *door) Wake() { d.server.loop.Post(d.open) }

// open goes on accepting after there was no place.
func (d *door) open() {
	d.waits = false
	d.listener.Resume()
}

// Enter implements loop.Gate. Clients of a farm that refuses those beyond its
// bound are let in to be told.
func (d *door) Enter() bool {
	f := d.server.table.Load().Farm(d.port)
	switch {
	case f == nil || f.Places == nil:
		return true
	case f.Places.Enter(f.MaxClients):
		d.held = f.Places
		return true
	case f.Refuses:
		return true
	case !d.waits && f.Places.Wait(d, f.MaxClients):
		d.held = f.Places
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

// place gives the connection that was accepted its place. full says that there
// is none.
func (d *door) place(f *table.Farm) (held *state.Places, full bool) {
	held, d.held = d.held, nil
	switch {
	case held != nil || f.Places == nil:
	case f.Refuses && !f.Places.Enter(f.MaxClients):
		return nil, true
	case f.Refuses:
		held = f.Places
	default: // the bound was set since Enter
		f.Places.Occupy()
		held = f.Places
	}
	return held, false
}

// turnAway answers a client for whom there is no place, as soon and as briefly
// as possible. With TLS there is nothing to say before a handshake.
func (s *Server) turnAway(f *table.Farm, c *loop.Conn) {
	st := s.shard.Farm(f.ID)
	st.Connections++
	st.Responses[4]++
	s.note(f.ID, refused.TooManyClients, 503, f.Name, "as many clients as the farm may have", c.Peer())
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
func occupy(f *table.Farm, place **state.Places) {
	if f != nil && f.Places != nil && *place == nil {
		f.Places.Occupy()
		*place = f.Places
	}
}
