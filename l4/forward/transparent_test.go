package forward_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
)

// dropping makes a listener drop packets from 127.0.0.x, like a firewall.
func dropping(t *testing.T, ln net.Listener, x byte) {
	t.Helper()
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const network = 0x100000 // SKF_NET_OFF, negative: offsets into the IP header
	var source int32 = -network + 12
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(source)},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: 127<<24 | uint32(x), Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0xffffffff},
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

// transparent returns a farm whose backends see the client addresses from a trusted peer's
// PROXY header.
func (a *appliance) transparent(backends ...string) farm.Farm {
	a.t.Helper()
	if err := loop.CanMark(); err != nil {
		a.t.Skip("needs root:", err)
	}
	f := a.farm(backends...)
	f.L4.NAT, f.L4.ProxyIn, f.L4.Trusted = farm.NATTarget, farm.ProxyInRequired, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	f.L4.ConnectTimeout, f.L4.ResurrectTime, f.L4.Algorithm = 1, 1, farm.L4Priority
	if !f.Transparent() {
		a.t.Fatal("the farm is not transparent")
	}
	return f
}

// dialAs is dial for a client with the address 127.0.0.x.
func (a *appliance) dialAs(f farm.Farm, x int) net.Conn {
	a.t.Helper()
	c := a.dial(f)
	_, _ = fmt.Fprintf(c, "PROXY TCP4 127.0.0.%d 127.0.0.1 4000 80\r\n", x)
	return c
}

func TestBackendDroppingOneClientStaysUp(t *testing.T) {
	a := newAppliance(t, 1)
	first := serve(t, name("first"))
	f := a.transparent(first.at(), serve(t, name("second")).at())
	dropping(t, first.Listener, 9)
	f.L4.Backends[1].Priority = 2
	a.publish(f)
	for range 2 {
		if got := line(t, a.dialAs(f, 9)); got != "second" {
			t.Errorf("a client dropped by the first backend reached %q, want %q", got, "second")
		}
		if got := line(t, a.dialAs(f, 8)); got != "first" {
			t.Errorf("the next client came to %q, want %q", got, "first")
		}
	}
	if got := a.health.Slot(1).Passive(); got != health.Up {
		t.Errorf("the backend is %v, want %v", got, health.Up)
	}
	if got := a.backend(1).ConnectFailures; got != 2 {
		t.Errorf("%d connects failed", got)
	}
}

func TestBackendRefusingEveryoneIsDown(t *testing.T) {
	a := newAppliance(t, 1)
	gone := serve(t, name("first"))
	f := a.transparent(gone.at(), serve(t, name("second")).at())
	f.L4.Backends[1].Priority = 2
	a.publish(f)
	if got := line(t, a.dialAs(f, 8)); got != "first" {
		t.Fatalf("a client came to %q, want %q", got, "first")
	}
	_ = gone.Close()
	if got := line(t, a.dialAs(f, 8)); got != "second" {
		t.Errorf("the next client reached %q, want %q", got, "second")
	}
	eventually(t, "a try from our own address finds it down", func() bool { return a.health.Slot(1).Passive() == health.Down })
	if got := line(t, a.dialAs(f, 8)); got != "second" {
		t.Errorf("a client came to %q, want %q", got, "second")
	}
	ln, err := net.Listen("tcp", gone.at())
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	eventually(t, "it is up again", func() bool { return a.health.Slot(1).Passive() == health.Up })
}
