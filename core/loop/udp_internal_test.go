package loop

import (
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// sockets holds a UDP listener and a UDP socket connected to peer, on a loop that does
// not run; the test acts as its goroutine. It records their events.
type sockets struct {
	l       *Loop
	ln      *UDPListener
	conn    *UDPConn
	at      netip.AddrPort // address of the listener
	own     netip.AddrPort // address of conn
	peer    *net.UDPConn
	got     []string
	lost    int
	refused []error
}

func (s *sockets) take(d *Datagram) {
	for data := d.Data; len(data) > 0; data = data[min(max(d.Segment, 1), len(data)):] {
		if d.Segment == 0 {
			s.got = append(s.got, string(data))
			break
		}
		s.got = append(s.got, string(data[:min(d.Segment, len(data))]))
	}
	if string(d.Data) == "bad" {
		panic("on purpose")
	}
}

func (s *sockets) Received(_ *UDPListener, d *Datagram)   { s.take(d) }
func (s *sockets) Lost(_ *UDPListener, _ Endpoint, n int) { s.lost += n }
func (s *sockets) Answered(_ *UDPConn, d *Datagram)       { s.take(d) }
func (s *sockets) Unsent(_ *UDPConn, n int)               { s.lost += n }
func (s *sockets) Refused(_ *UDPConn, err error)          { s.refused = append(s.refused, err) }

func newSockets(t *testing.T, o DialOptions) *sockets {
	t.Helper()
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.closeAll)
	listen := func() *net.UDPConn {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadBuffer(1 << 20)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	s := &sockets{l: l, peer: listen()}
	in := listen()
	f, err := in.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s.at = in.LocalAddr().(*net.UDPAddr).AddrPort()
	if s.ln, err = l.ListenUDP(f, s); err != nil {
		t.Fatal(err)
	}
	if s.conn, err = l.DialUDP(s.peer.LocalAddr().(*net.UDPAddr).AddrPort(), s, o); err != nil {
		t.Fatal(err)
	}
	size := uint32(unix.SizeofSockaddrAny)
	sysGetsockname(int(s.conn.fd), &l.addr, &size)
	s.own = decodeAddr(&l.addr)
	return s
}

// batch sends data to the peer in one batch, as a handler does.
func (s *sockets) batch(from string, data ...[]byte) {
	to, none := EndpointOf(s.peer.LocalAddr().(*net.UDPAddr).AddrPort()), Endpoint{}
	s.l.udp.batch = true
	for _, d := range data {
		if from == "listener" {
			s.ln.Send(d, 0, &to, &none)
		} else {
			s.conn.Send(d, 0)
		}
	}
	s.l.udp.batch = false
	s.l.sendAll()
}

// A socket receives one batch per turn, and the rest after the other sockets.
func TestRemainingDatagramsAreReceivedNextTurn(t *testing.T) {
	s := newSockets(t, DialOptions{})
	for what, receive := range map[string]func(){"listener": s.ln.receive, "conn": s.conn.receive} {
		to := s.at
		if what == "conn" {
			to = s.own
		}
		s.got = nil
		for i := range 150 {
			if _, err := s.peer.WriteToUDPAddrPort([]byte{byte(i)}, to); err != nil {
				t.Fatal(err)
			}
		}
		if receive(); len(s.got) != datagramBatch {
			t.Errorf("%s: %d came with the first turn", what, len(s.got))
		}
		for range 3 {
			s.l.runDatagrams()
		}
		if len(s.got) != 150 || s.got[149] != "\x95" {
			t.Errorf("%s: %d datagrams of 150", what, len(s.got))
		}
	}
}

func TestPanicKeepsTheRestOfItsBatch(t *testing.T) {
	s := newSockets(t, DialOptions{})
	for _, to := range []netip.AddrPort{s.at, s.own} {
		s.got = nil
		for _, text := range []string{"one", "bad", "two"} {
			_, _ = s.peer.WriteToUDPAddrPort([]byte(text), to)
		}
		s.ln.receive()
		s.conn.receive()
		if !slices.Equal(s.got, []string{"one", "bad", "two"}) {
			t.Errorf("got %q", s.got)
		}
	}
}

// Datagrams of equal length leave as one message. If the kernel rejects it they leave
// one by one, as do later datagrams of that length.
func TestRejectedBatchesAreSentOneByOne(t *testing.T) {
	for _, from := range []string{"listener", "conn"} {
		s := newSockets(t, DialOptions{})
		limit, fd := &s.conn.backlog.limit, int(s.conn.fd)
		if from == "listener" {
			limit, fd = &s.ln.backlog.limit, s.ln.fd
		}
		arrive := func(n int) {
			t.Helper()
			for i := range n {
				if got, err := s.peer.Read(make([]byte, 2000)); got != 1024 {
					t.Fatalf("%s: datagram %d of %d has %d bytes, %v", from, i, n, got, err)
				}
			}
		}
		s.batch(from, slices.Repeat([][]byte{make([]byte, 1024)}, 150)...)
		if arrive(150); *limit != maxSegment || s.lost != 0 {
			t.Errorf("%s: messages exceed the kernel's limit: limit %d, %d lost", from, *limit, s.lost)
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1); err != nil { // makes segmentation impossible
			t.Fatal(err)
		}
		s.batch(from, slices.Repeat([][]byte{make([]byte, 1024)}, 3)...)
		if arrive(3); *limit != 1023 || s.lost != 0 {
			t.Errorf("%s: the limit is %d after it was refused, %d lost", from, *limit, s.lost)
		}
	}
	s := newSockets(t, DialOptions{})
	_ = unix.SetsockoptInt(int(s.conn.fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)
	_ = s.peer.Close()
	if s.batch("conn", slices.Repeat([][]byte{make([]byte, 1024)}, 3)...); s.lost != 1 { // the second one, as the first was refused
		t.Errorf("%d were counted as lost of three to a closed port", s.lost)
	}
}

func TestConnectedUDPSocketOptionsTakeEffect(t *testing.T) {
	s := newSockets(t, DialOptions{Source: netip.MustParseAddr("127.0.0.2")})
	if s.own.Addr() != netip.MustParseAddr("127.0.0.2") {
		t.Errorf("it sends from %v", s.own)
	}
	if on, err := unix.GetsockoptInt(int(s.conn.fd), unix.SOL_IP, unix.IP_RECVERR); on != 1 {
		t.Errorf("errors about an unreachable peer are not reported: %v", err)
	}
	if CanMark() != nil {
		return
	}
	s = newSockets(t, DialOptions{Mark: 7})
	if mark, err := unix.GetsockoptInt(int(s.conn.fd), unix.SOL_SOCKET, unix.SO_MARK); mark != 7 {
		t.Errorf("its mark is %d, %v", mark, err)
	}
}

// Responses leave from the address and interface that the client used.
func TestDestinationAddressRoundTrips(t *testing.T) {
	for _, want := range []Endpoint{
		EndpointOf(netip.MustParseAddrPort("192.0.2.1:0")), EndpointOf(netip.MustParseAddrPort("[2001:db8::1]:0")),
		{addr: netip.MustParseAddr("fe80::1").As16(), kind: 6, scope: 3},
	} {
		var d Datagram
		if d.readControl(pktinfo(make([]byte, 0, controlSize), &want)); d.To != want {
			t.Errorf("%v became %v", want, d.To)
		}
	}
	d := datagrams{space: make([]byte, slotSize)}
	if d.show(&unix.Mmsghdr{Len: 1, Hdr: unix.Msghdr{Flags: unix.MSG_TRUNC}}, 0) {
		t.Error("a datagram that was cut is shown")
	}
	if n := (&sending{count: 3, batch: [datagramBatch]bundle{{number: 1}, {number: 2}, {number: 3}}}).left(1); n != 5 {
		t.Errorf("%d are left, want 5", n)
	}
}

// A value is not reused in the same event, and pools keep a bounded number of buffers.
func TestPoolsReuseFreeValuesAndAreBounded(t *testing.T) {
	l := &Loop{}
	list, value := NewFreeList[int](l), new(int)
	if list.Put(value); list.Get() == value {
		t.Error("a value is reused during its event")
	}
	if l.event++; list.Get() != value {
		t.Error("it is not given out afterwards")
	}
	var pool BufferPool
	for range 500 {
		pool.Put(make([]byte, 0, 1<<minClass))
		pool.Put(make([]byte, 0, MaxBuffer))
	}
	if small, large := len(pool.free[0]), len(pool.free[maxClass-minClass]); small != 128 || large != 2 {
		t.Errorf("%d small buffers are kept and %d large ones", small, large)
	}
	var ps pipes
	p := ps.get()
	if p == nil {
		t.Skip("not shown: no pipe can be had")
	}
	p.held = 1
	if ps.put(p); len(ps.free) != 0 || ps.open != 0 {
		t.Error("a pipe with bytes in it is kept")
	}
}

// After a failed write, Read returns an error even if the kernel reports an orderly
// end.
func TestAnEndAfterAFailedWriteIsAnError(t *testing.T) {
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.closeAll()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	fd, _ := sysSocket(unix.AF_INET)
	size := encodeAddr(&l.addr, ln.Addr().(*net.TCPAddr).AddrPort())
	sysConnect(fd, &l.addr, size)
	peer, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = peer.(*net.TCPConn).SetLinger(0)
	_ = peer.Close()
	c := l.open(fd, netip.AddrPort{}, nil, flagReadable|flagWet)
	if err := c.Write([]byte("x")); err == nil {
		t.Fatal("a write after the reset did not fail")
	}
	if _, err := c.Read(make([]byte, 1)); err != syscall.ECONNRESET && err != syscall.EPIPE {
		t.Errorf("it ends with %v", err)
	}
}

// The UDP state is allocated once: later sockets must not reset headers prepared by
// others.
func TestAllUDPSocketsOfALoopShareTheirBuffers(t *testing.T) {
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.closeAll)
	if first := l.datagrams(); first != l.datagrams() || first != l.udp {
		t.Error("the buffers are recreated")
	}
}
