package client

import (
	"bytes"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/ports"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// door accepts the clients of a port on one loop.
type door struct {
	server   *Server
	port     *ports.Port
	listener *loop.Listener
	held     *state.ClientLimit // slot of the connection being accepted
	waits    bool               // queued for a slot
}

// Wake implements state.Door. It retries on the loop of the door.
func (d *door) Wake() { d.server.loop.Post(d.open) }

// open resumes accepting after there was no slot.
func (d *door) open() {
	d.waits = false
	d.listener.Resume()
}

// Enter implements loop.Gate. If the farm refuses excess clients, they are accepted to get a
// response.
func (d *door) Enter() bool {
	f := d.server.table.Load().On(d.port)
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

// admit returns the slot of the accepted connection; full means that there is none.
func (d *door) admit(f *table.Farm) (held *state.ClientLimit, full bool) {
	held, d.held = d.held, nil
	switch {
	case held != nil || f.ClientLimit == nil:
	case f.Refuses && !f.ClientLimit.Enter(f.MaxClients):
		return nil, true
	case f.Refuses:
		held = f.ClientLimit
	default: // the limit was set after Enter
		f.ClientLimit.Occupy()
		held = f.ClientLimit
	}
	return held, false
}

// turnAway refuses a client without a slot, as cheaply as possible. TLS clients get no
// response, because that would need a handshake.
func (s *Server) turnAway(f *table.Farm, c *loop.Conn) {
	st := s.shard.Farm(f.ID)
	st.Connections++
	st.Responses[4]++
	s.note(f.ID, rejected.TooManyClients, 503, f.Name, "as many clients as the farm may have", c.Peer())
	if f.TLS != nil {
		c.Abort()
		return
	}
	n, _ := c.Read(s.loop.In[:headRead]) // unread bytes would cause a reset
	out := f.Answers.Append(s.loop.Scratch[:0], 503, false, true)
	st.BytesOut += uint64(len(out))
	if c.Write(out) != nil {
		c.Close()
		return
	}
	// The rest of the request would cause a reset, too, if it arrived after the close.
	unread := c.Pending() != 0 || c.Readable()
	switch may := s.loop.MayLinger(); {
	case may && (unread || !isWhole(s.loop.In[:n])):
		c.LingerActive(lingerTime, lingerTime)
		return
	case unread:
		c.Linger(lingerTime)
		return
	}
	c.CloseWrite()
	c.Close()
}

// isWhole reports whether a client that sent this has probably nothing more to send.
func isWhole(request []byte) bool {
	return bytes.HasSuffix(request, []byte("\r\n\r\n")) && (bytes.HasPrefix(request, []byte("GET ")) || bytes.HasPrefix(request, []byte("HEAD ")))
}

// occupy counts clients accepted before their farm had a limit.
func occupy(f *table.Farm, held **state.ClientLimit) {
	if f != nil && f.ClientLimit != nil && *held == nil {
		f.ClientLimit.Occupy()
		*held = f.ClientLimit
	}
}
