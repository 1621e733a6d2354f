package ctl_test

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

const pingGroups = "/proc/sys/net/ipv4/ping_group_range"

// By default Linux lets no group open ping sockets.
func TestPingSocketsIgnoreThePingGroupRange(t *testing.T) {
	netd := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpPing: ctl.PingSocket}))
	before, err := os.ReadFile(pingGroups)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		v6    bool
		to    net.IP
		ask   icmp.Type
		proto int
	}{{false, net.IPv4(127, 0, 0, 1), ipv4.ICMPTypeEcho, 1}, {true, net.IPv6loopback, ipv6.ICMPTypeEchoRequest, 58}} {
		file, err := netd.Ping(t.Context(), c.v6)
		if errors.Is(err, ctl.ErrNotPermitted) && os.Geteuid() != 0 {
			t.Skip("needs root: nobody else may let a group in")
		}
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.FilePacketConn(file)
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		packet, _ := (&icmp.Message{Type: c.ask, Body: &icmp.Echo{Seq: 1, Data: []byte("sluice")}}).Marshal(nil)
		if _, err := conn.WriteTo(packet, &net.UDPAddr{IP: c.to}); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		answer := make([]byte, 100)
		n, _, err := conn.ReadFrom(answer)
		if err != nil {
			t.Fatalf("no answer from %s: %v", c.to, err)
		}
		if m, err := icmp.ParseMessage(c.proto, answer[:n]); err != nil || m.Type == c.ask {
			t.Errorf("from %s came %v, %v", c.to, m, err)
		}
		raw, err := conn.(*net.UDPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if kind := kindOf(t, raw); kind != unix.SOCK_DGRAM {
			t.Errorf("the socket is of kind %d: only echo sockets may leave netd", kind)
		}
	}
	if after, err := os.ReadFile(pingGroups); err != nil || string(after) != string(before) {
		t.Errorf("the groups were %s, now %s (%v)", before, after, err)
	}
}

// kindOf returns the type (SO_TYPE) of a socket.
func kindOf(t *testing.T, raw syscall.RawConn) (kind int) {
	t.Helper()
	var err error
	if failed := raw.Control(func(fd uintptr) { kind, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return kind
}
