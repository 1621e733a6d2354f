package loop

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// reported records the errors of a connected UDP socket.
type reported []error

func (r *reported) Answered(*UDPConn, *Datagram)     {}
func (r *reported) Refused(_ *UDPConn, err error)    { *r = append(*r, err) }
func (r *reported) Unsent(_ *UDPConn, datagrams int) {}

// icmpError sends an ICMP error about a datagram between two loopback addresses.
func icmpError(t *testing.T, kind, code byte, from, to netip.AddrPort) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if errors.Is(err, unix.EPERM) {
		t.Skip("not shown: messages of ICMP need CAP_NET_RAW")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	b := make([]byte, 8+20+8)
	b[0], b[1] = kind, code
	ip := b[8:]
	ip[0], ip[8], ip[9] = 0x45, 64, unix.IPPROTO_UDP
	binary.BigEndian.PutUint16(ip[2:], 28)
	copy(ip[12:], from.Addr().AsSlice())
	copy(ip[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(ip[20:], from.Port())
	binary.BigEndian.PutUint16(ip[22:], to.Port())
	binary.BigEndian.PutUint16(ip[24:], 8)
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[2:], ^uint16(sum+sum>>16))
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Addr: from.Addr().As4()}); err != nil {
		t.Fatal(err)
	}
}

// An error may arrive during receiving, without an event before it.
func TestOnlyUnreachablePeersAreReported(t *testing.T) {
	l, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.closeAll() // the loop does not run: the test acts as its goroutine
	peer, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	to := peer.LocalAddr().(*net.UDPAddr).AddrPort()
	var got reported
	o, err := l.DialUDP(to, &got, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size := uint32(unix.SizeofSockaddrAny)
	sysGetsockname(int(o.fd), &l.addr, &size)
	own := decodeAddr(&l.addr)
	for _, c := range []struct {
		kind, code byte
		want       []error
	}{
		{12, 0, nil}, // parameter problem: concerns one datagram
		{3, 3, []error{syscall.ECONNREFUSED}},
	} {
		got = nil
		icmpError(t, c.kind, c.code, own, to)
		icmpError(t, c.kind, c.code, own, to)
		fds := []unix.PollFd{{Fd: o.fd}}
		if n, err := unix.Poll(fds, 1000); n != 1 || err != nil {
			t.Errorf("no error came: %v", err)
		}
		o.receive()
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("type %d: refused for %v, want %v", c.kind, got, c.want)
		}
		if n, _ := unix.Poll(fds, 0); n != 0 {
			t.Errorf("type %d: an error is left in the queue", c.kind)
		}
	}
}
