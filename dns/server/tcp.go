package server

import (
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/sluicelb/sluice/core/list"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/dns/wire"
)

const (
	lengthSize = 2
	// most is the amount of unsent data to a client above which reading pauses.
	most = 64 << 10
	// linger is how long a client may still send after the connection is closed.
	linger = int64(2 * time.Second)
)

// connection is a TCP connection of a client (RFC 7766).
type connection struct {
	w        *worker
	port     *port
	conn     *loop.Conn
	counted  *farmTable
	rest     []byte // of an incomplete message
	transfer *transfer
	ended    bool // by the client: only answers remain to be sent
	tls      bool // encrypted
	// asked is the time of the last query. links is the position in the loop's list of
	// connections, longest idle first.
	asked int64
	links list.Links[connection]
}

// accept accepts a client of the farm of a port.
func (w *worker) accept(at *port, c *loop.Conn) {
	f := w.engine.table.Load().On(at)
	if f == nil {
		c.Abort()
		return
	}
	s := w.shard.Farm(f.id)
	s.Connections++
	if f.conns.Add(1) > f.maxConns && !w.makeRoom(f) {
		f.conns.Add(-1)
		s.Dropped++
		c.Abort()
		return
	}
	s.Established++
	one := &connection{w: w, port: at, conn: c, counted: f}
	c.SetHandler(one)
	if one.tls = at.Addr.Port() == f.tlsPort; one.tls {
		c.Secure(f.security)
	}
	one.heard(f)
}

// silence is the idle time after which a connection may be closed for another client, so
// that idle connections cannot block others.
const silence = int64(time.Second)

// makeRoom closes the farm's longest idle connection, if it is idle long enough.
func (w *worker) makeRoom(f *farmTable) bool {
	for s := w.conns.First(); s != nil && w.loop.Now()-s.asked > silence; s = s.links.Next() {
		if s.counted.id == f.id && s.transfer == nil {
			s.end()
			w.shard.Farm(f.id).Evicted++
			return true
		}
	}
	return false
}

// heard records a query and restarts the idle timeout.
func (s *connection) heard(f *farmTable) {
	if s.links.Listed() {
		s.w.conns.Remove(&s.links)
	}
	s.asked = s.w.loop.Now()
	s.w.conns.PushBack(&s.links, s)
	s.conn.SetDeadline(s.asked + f.idle)
}

// Readable implements loop.Handler.
func (s *connection) Readable(c *loop.Conn) {
	if s.transfer != nil && c.Pending() == 0 {
		s.Drained(c)
		return
	}
	if s.transfer != nil || c.Pending() > most {
		return // Drained continues
	}
	w := s.w
	if w.stream == nil {
		w.makeStream()
	}
	n := copy(w.read, s.rest)
	got, err := c.Read(w.read[n:])
	if errors.Is(err, loop.ErrDry) {
		return
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.end()
		return
	}
	s.ended = err != nil
	s.messages(w.read[:n+got])
}

// makeStream allocates the buffers of connections.
func (w *worker) makeStream() {
	w.read, w.stream = make([]byte, lengthSize+wire.LargestTCP), make([]byte, 0, lengthSize+wire.LargestTCP)
}

// messages answers all complete messages and keeps the rest.
func (s *connection) messages(all []byte) {
	f := s.w.engine.table.Load().On(s.port)
	if f == nil {
		s.end()
		return
	}
	for len(all) >= lengthSize && s.transfer == nil {
		n := int(binary.BigEndian.Uint16(all))
		if len(all) < lengthSize+n {
			break
		}
		msg := all[lengthSize : lengthSize+n]
		all = all[lengthSize+n:]
		if !s.message(f, msg) {
			s.end()
			return
		}
		s.heard(f)
	}
	s.rest = append(s.rest[:0], all...)
	switch {
	case s.ended && s.transfer == nil:
		s.close()
	case s.transfer == nil && s.conn.Pending() <= most:
		s.conn.Wait()
	}
}

// message answers one message. It reports false if there is no answer, or if the transfer is
// aborted: then the connection is closed.
func (s *connection) message(f *farmTable, msg []byte) bool {
	w := s.w
	q := &w.query
	peer := s.conn.Peer()
	q.Client, w.port, q.TCP, q.TLS = peer.Addr(), peer.Port(), true, s.tls
	if s.asksTransfer(f, msg) {
		return s.transfer == nil || !s.transfer.aborted
	}
	answer := w.answer(f, msg, w.stream[lengthSize:lengthSize])
	if len(answer) == 0 {
		return false
	}
	return s.send(f, answer)
}

// send sends an answer in w.stream, after its length field.
func (s *connection) send(f *farmTable, answer []byte) bool {
	all := s.w.stream[:lengthSize+len(answer)]
	binary.BigEndian.PutUint16(all, uint16(len(answer)))
	s.w.shard.Farm(f.id).BytesOut += uint64(len(all))
	return s.conn.Write(all) == nil
}

// Drained implements loop.Handler.
func (s *connection) Drained(c *loop.Conn) {
	if s.transfer != nil && !s.goOn() {
		if s.transfer.aborted {
			s.end()
		}
		return
	}
	if s.transfer == nil {
		if len(s.rest) > lengthSize { // messages that waited for the end of a transfer
			s.messages(append([]byte(nil), s.rest...))
			return
		}
		if s.ended {
			s.close()
			return
		}
		c.Wait()
	}
}

// Connected implements loop.Handler: the result of a handshake. A client without TLS gets no
// response, because this port must not send unencrypted data.
func (s *connection) Connected(c *loop.Conn, err error) {
	switch {
	case err == nil:
	case c.Closed():
		s.uncount()
	default:
		s.end()
	}
}

// Expired implements loop.Handler.
func (s *connection) Expired(*loop.Conn) {
	if t := s.transfer; t != nil && t.failure == "" {
		t.failure = "the client stopped reading the transfer"
	}
	s.end()
}

// Failed implements loop.Handler.
func (s *connection) Failed(*loop.Conn, error) { s.uncount() }

// close closes a connection after its pending answers.
func (s *connection) close() {
	s.uncount()
	s.conn.Linger(linger)
}

// end closes the connection at once.
func (s *connection) end() {
	s.uncount()
	s.conn.Close()
}

func (s *connection) uncount() {
	if s.counted == nil {
		return
	}
	s.w.conns.Remove(&s.links)
	s.counted.conns.Add(-1)
	s.w.shard.Farm(s.counted.id).Established--
	s.counted = nil
	if s.transfer != nil {
		s.endTransfer(false)
	}
}
