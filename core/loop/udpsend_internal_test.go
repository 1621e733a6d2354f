package loop

import (
	"bytes"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Datagrams of growing length cannot share a message. They need more messages than one
// call sends, and all arrive in order.
func TestMessagesBeyondOneCallAllArrive(t *testing.T) {
	for _, from := range []string{"listener", "conn"} {
		s := newSockets(t, DialOptions{})
		var data [][]byte
		for i := range 3*datagramBatch + 1 {
			data = append(data, bytes.Repeat([]byte{byte(i)}, i+1))
		}
		s.batch(from, data...)
		buf := make([]byte, 2000)
		for i, want := range data {
			if n, err := s.peer.Read(buf); err != nil || !bytes.Equal(buf[:n], want) {
				t.Fatalf("%s: datagram %d has %d bytes, want %d: %v", from, i, n, len(want), err)
			}
		}
		if s.lost != 0 {
			t.Errorf("%s: %d lost", from, s.lost)
		}
		// Datagrams of equal length share a message, and a shorter one ends it.
		var bundles []int
		d := &s.l.udp.sending
		for _, n := range []int{5, 5, 3, 3, 4, 0, 2, 2} {
			d.add(&s.conn.backlog, make([]byte, n), 0)
		}
		d.fill(s.conn.backlog.take(), maxSegment)
		for _, b := range d.batch[:d.count] {
			bundles = append(bundles, b.number)
		}
		if want := []int{3, 1, 1, 1, 2}; !slices.Equal(bundles, want) {
			t.Errorf("messages of %v datagrams, want %v", bundles, want)
		}
		d.pieces = d.pieces[:0]
	}
}

// Messages stay within the kernel's limits.
func TestMessagesRespectKernelLimits(t *testing.T) {
	for _, test := range []struct {
		name       string
		size, many int
		limit      int
		want       [][2]int // datagrams and bytes of each message
	}{
		{"as many as there may be", 10, 130, maxSegment, [][2]int{{64, 640}, {64, 640}, {2, 20}}},
		{"as many bytes as there may be", 13000, 11, maxSegment, [][2]int{{5, 65000}, {5, 65000}, {1, 13000}}},
		{"a byte too many", 13001, 6, maxSegment, [][2]int{{4, 52004}, {2, 26002}}},
		{"the longest together", maxSegment, 2, maxSegment, [][2]int{{1, maxSegment}, {1, maxSegment}}},
		{"as long as the way takes", 1000, 3, 1000, [][2]int{{3, 3000}}},
		{"longer than the way takes", 1001, 3, 1000, [][2]int{{1, 1001}, {1, 1001}, {1, 1001}}},
	} {
		for together, data := range map[bool][][]byte{
			false: slices.Repeat([][]byte{make([]byte, test.size)}, test.many),
			true:  {make([]byte, test.size*test.many)},
		} {
			var s sending
			s.init()
			q := noBacklog
			for _, b := range data {
				segment := 0
				if together {
					segment = test.size
				}
				s.add(&q, b, segment)
			}
			var got [][2]int
			for at := q.take(); at != none; {
				at = s.fill(at, test.limit)
				for _, b := range s.batch[:s.count] {
					got = append(got, [2]int{b.number, b.bytes})
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, received together: %t: %v, want %v", test.name, together, got, test.want)
			}
		}
	}
}

// Failed datagrams are counted exactly, and the others leave.
func TestFailedDatagramsAreCountedAndOthersSent(t *testing.T) {
	s := newSockets(t, DialOptions{})
	peer := EndpointOf(s.peer.LocalAddr().(*net.UDPAddr).AddrPort())
	for _, test := range []struct {
		name, to string
		limit    int32
	}{
		{"to the other family", "[::1]:9", maxSegment},
		{"to no port", "127.0.0.1:0", 99}, // its error (EINVAL) may also mean that it is too long
	} {
		s.lost, s.ln.backlog.limit = 0, maxSegment
		bad := EndpointOf(netip.MustParseAddrPort(test.to))
		s.l.udp.batch = true
		for i := range 5 {
			s.ln.Send(make([]byte, 100), 0, &bad, &Endpoint{})
			s.ln.Send([]byte{byte(i)}, 0, &peer, &Endpoint{})
		}
		for range 3 {
			s.ln.Send(make([]byte, 100), 0, &bad, &Endpoint{})
		}
		s.l.udp.batch = false
		s.l.sendAll()
		if s.lost != 8 || s.ln.backlog.limit != test.limit {
			t.Errorf("%s: %d lost, want 8; the limit is %d, want %d", test.name, s.lost, s.ln.backlog.limit, test.limit)
		}
		buf := make([]byte, 200)
		for i := range 5 {
			if n, err := s.peer.Read(buf); n != 1 || buf[0] != byte(i) {
				t.Errorf("%s: datagram %d is %v, %v", test.name, i, buf[:n], err)
			}
		}
	}
	_ = unix.Shutdown(int(s.conn.fd), unix.SHUT_WR)
	s.lost = 0
	s.conn.Send([]byte("x"), 0)
	if s.batch("conn", []byte("abc"), []byte("abc"), []byte("longer")); s.lost != 4 {
		t.Errorf("%d were counted as lost of four that were sent after the end", s.lost)
	}
	if len(s.refused) != 0 {
		t.Errorf("refusals were reported: %v", s.refused)
	}
	s.conn.Close()
	s.ln.Close()
	s.conn.Close()
	s.ln.Close()
	s.lost = 0
	s.conn.Send([]byte("x"), 0)
	s.ln.Send([]byte("x"), 0, &peer, &Endpoint{})
	if len(s.l.udp.sending.pieces) != 0 || s.lost != 0 || !s.conn.Closed() {
		t.Errorf("closed sockets send %d, lose %d", len(s.l.udp.sending.pieces), s.lost)
	}
}

// A socket that is closed while its datagrams leave sends no more. It is reused only
// after its turn.
func TestClosedSocketsAreNotScheduled(t *testing.T) {
	s := newSockets(t, DialOptions{})
	s.conn.again()
	s.ln.again()
	s.conn.again()
	s.ln.again()
	if len(s.l.waiting) != 2 {
		t.Errorf("%d sockets wait, want 2", len(s.l.waiting))
	}
	c := s.conn
	c.Close()
	s.ln.Close()
	s.l.event++
	if s.l.udpConnValues.Get() == c {
		t.Error("a socket that waits for its turn is given out")
	}
	s.l.runDatagrams()
	s.l.event++
	if s.l.udpConnValues.Get() != c {
		t.Error("a closed socket is not given out after its turn")
	}
	if c.again(); len(s.l.waiting) != 0 {
		t.Error("a closed socket waits")
	}
	c.serve(unix.EPOLLIN)
	s.ln.receive()
}

// An error of sending means one of four things: no room now, datagrams must be sent one
// by one, the peer is unreachable, or only this datagram is lost.
func TestSendErrorsAreClassified(t *testing.T) {
	kinds := map[syscall.Errno]string{}
	for errno := range syscall.Errno(134) {
		kind := ""
		if full(errno) {
			kind += "full "
		}
		if indivisible(errno) {
			kind += "indivisible "
		}
		if unreachable(errno) {
			kind += "unreachable "
		}
		if kind != "" {
			kinds[errno] = kind
		}
	}
	for errno, want := range map[syscall.Errno]string{
		syscall.EAGAIN: "full ", syscall.ENOBUFS: "full ", syscall.ENOMEM: "full ",
		syscall.EINVAL: "indivisible ", syscall.EMSGSIZE: "indivisible ", syscall.EIO: "indivisible ", syscall.EOPNOTSUPP: "indivisible ",
		syscall.ECONNREFUSED: "unreachable ", syscall.EHOSTUNREACH: "unreachable ", syscall.ENETUNREACH: "unreachable ", syscall.EHOSTDOWN: "unreachable ",
		syscall.ENOPROTOOPT: "unreachable ", syscall.ENONET: "unreachable ", syscall.ENETDOWN: "unreachable ", syscall.EADDRNOTAVAIL: "unreachable ",
	} {
		if kinds[errno] != want {
			t.Errorf("%v is %q, want %q", errno, kinds[errno], want)
		}
		delete(kinds, errno)
	}
	if len(kinds) != 0 {
		t.Errorf("more errors mean something: %v", kinds)
	}
}

// The bytes of an endpoint identify it, and the address round-trips.
func TestEndpointsRoundTrip(t *testing.T) {
	for _, test := range []struct{ of, is, bytes string }{
		{"192.0.2.1:258", "192.0.2.1:258", "\xc0\x00\x02\x01\x01\x02"},
		{"[::ffff:192.0.2.1]:258", "192.0.2.1:258", "\xc0\x00\x02\x01\x01\x02"},
		{"[2001:db8::1]:53", "[2001:db8::1]:53", "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x35"},
	} {
		e := EndpointOf(netip.MustParseAddrPort(test.of))
		if got := e.AddrPort().String(); got != test.is || string(e.AppendTo(nil)) != test.bytes || !e.IsValid() || e.Port() != e.AddrPort().Port() {
			t.Errorf("%s is %s, bytes %x", test.of, got, e.AppendTo(nil))
		}
		var raw unix.RawSockaddrInet6
		size := e.encode(&raw)
		var back Endpoint
		if back.decode(&raw); back != e || (size == unix.SizeofSockaddrInet4) != (e.kind == 4) {
			t.Errorf("%s becomes %v of %d bytes in the kernel's form", test.of, back, size)
		}
		var sa unix.RawSockaddrAny
		if size != encodeAddr(&sa, netip.MustParseAddrPort(test.of)) || decodeAddr(&sa).String() != test.is {
			t.Errorf("%s becomes %v", test.of, decodeAddr(&sa))
		}
	}
	var none Endpoint
	if none.IsValid() || none.Addr().IsValid() {
		t.Error("no endpoint is one")
	}
	e := EndpointOf(netip.MustParseAddrPort("[2001:db8::1]:53"))
	if e.decode(&unix.RawSockaddrInet6{Family: unix.AF_UNIX}); e != none {
		t.Errorf("an address of another family is %v, want %v", e, none)
	}
	if got := decodeAddr(&unix.RawSockaddrAny{Addr: unix.RawSockaddr{Family: unix.AF_UNIX}}); got.IsValid() {
		t.Errorf("an address of another family is %v", got)
	}
}
