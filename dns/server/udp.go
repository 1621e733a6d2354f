package server

import (
	"os"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/dns/wire"
)

// Memory for the answers of a batch, which grows with the largest batch.
const (
	firstSpace = 64 * wire.LargestUDP
	mostSpace  = 4096 * wire.LargestUDP // 64 datagrams of as many messages each
)

// udpListener receives the queries of a port.
type udpListener struct {
	w    *worker
	port *port
	ln   *loop.UDPListener
}

func (w *worker) listenUDP(p *port, file *os.File) error {
	u := &udpListener{w: w, port: p}
	ln, err := w.loop.ListenUDP(file, u)
	if err != nil {
		return err
	}
	if err := ln.Moderate(); err != nil {
		ln.Close()
		return err
	}
	if err := ln.Whole(); err != nil { // answers fit every path (wire.LargestUDP)
		ln.Close()
		return err
	}
	u.ln = ln
	if w.space == nil {
		w.space = make([]byte, 0, firstSpace)
	}
	w.udp[p] = u
	return nil
}

// file always fails: UDP addresses are opened again.
func (u *udpListener) file() (*os.File, error) { return nil, os.ErrNotExist }

// Received implements loop.UDPListenerHandler: it answers each message of a datagram, or of
// several the kernel combined.
func (u *udpListener) Received(ln *loop.UDPListener, d *loop.Datagram) {
	w := u.w
	f := w.engine.table.Load().On(u.port)
	if f == nil {
		return
	}
	if d.First {
		w.space = w.space[:0]
	}
	rest, each := d.Data, d.Segment
	if each == 0 {
		each = len(rest)
	}
	for more := true; more; more = len(rest) > 0 {
		n := min(each, len(rest))
		w.datagram(ln, f, rest[:n], d)
		rest = rest[n:]
	}
}

// datagram answers one message.
func (w *worker) datagram(ln *loop.UDPListener, f *farmTable, msg []byte, d *loop.Datagram) {
	if cap(w.space)-len(w.space) < wire.LargestUDP {
		// Unsent answers keep using the old memory.
		w.space = make([]byte, 0, min(mostSpace, 2*cap(w.space)))
	}
	at := len(w.space)
	q := &w.query
	q.Client, w.port, q.TCP, q.TLS = d.From.Addr(), d.From.Port(), false, false
	answer := w.answer(f, msg, w.space[at:at:at+wire.LargestUDP])
	s := w.shard.Farm(f.id)
	s.PacketsIn++
	s.BytesIn += uint64(len(msg))
	if len(answer) == 0 {
		return
	}
	w.space = w.space[:at+len(answer)]
	ln.Send(answer, 0, &d.From, &d.To)
	s.PacketsOut++
	s.BytesOut += uint64(len(answer))
}

// Lost implements loop.UDPListenerHandler.
func (u *udpListener) Lost(_ *loop.UDPListener, _ loop.Endpoint, count int) {
	if f := u.w.engine.table.Load().On(u.port); f != nil {
		u.w.shard.Farm(f.id).Dropped += uint64(count)
	}
}
