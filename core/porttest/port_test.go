package porttest_test

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/porttest"
)

// chosen makes the kernel choose from a range of one port and returns its error.
func chosen(t *testing.T, port uint16, reuse int, network string) error {
	t.Helper()
	var refused error
	control := func(_, _ string, c syscall.RawConn) error {
		err := c.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, reuse)
			refused = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, int(port)<<16|int(port))
		})
		return errors.Join(err, refused)
	}
	var err error
	if network == "listen" {
		var ln net.Listener
		if ln, err = (&net.ListenConfig{Control: control}).Listen(t.Context(), "tcp4", "127.0.0.1:0"); err == nil {
			_ = ln.Close()
		}
	} else {
		to, lerr := net.Listen("tcp4", "127.0.0.1:0")
		if lerr != nil {
			t.Fatal(lerr)
		}
		defer to.Close()
		var c net.Conn
		if c, err = (&net.Dialer{Control: control}).Dial("tcp4", to.Addr().String()); err == nil {
			_ = c.Close()
		}
	}
	if refused != nil {
		t.Skipf("not shown: this kernel has no range of ports for a socket: %v", refused)
	}
	return err
}

func TestHeldPortIsNotAssigned(t *testing.T) {
	at := porttest.TCP(t)
	for _, reuse := range []int{0, 1} {
		if err := chosen(t, at.Port(), reuse, "listen"); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("listening, SO_REUSEADDR %d: %v", reuse, err)
		}
		if err := chosen(t, at.Port(), reuse, "connect"); !errors.Is(err, unix.EADDRNOTAVAIL) {
			t.Errorf("connecting, SO_REUSEADDR %d: %v", reuse, err)
		}
	}
	other := porttest.TCP(t)
	if other == at {
		t.Errorf("%v twice", at)
	}
}

func TestHeldPortCanBeListenedOn(t *testing.T) {
	at := porttest.TCP(t)
	if _, err := net.Dial("tcp", at.String()); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("before anybody listens: %v", err)
	}
	for range 2 { // twice, the second time with connections in TIME_WAIT
		ln, err := net.Listen("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = theirs.Close()
		_ = c.Close()
		_ = ln.Close()
	}
}

func TestAddressInUseCannotBeHeld(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(ln.Addr().String())
	if porttest.Hold(t, at) {
		t.Error("a port in use was held")
	}
	_ = ln.Close()
	if !porttest.Hold(t, at) {
		t.Error("not held when the listener had gone")
	}
}

func TestPortsForDatagramsAreFreeAndDiffer(t *testing.T) {
	seen := map[netip.AddrPort]bool{}
	for range 50 {
		at := porttest.UDP(t)
		if seen[at] {
			t.Errorf("%v twice", at)
		}
		seen[at] = true
		c, err := net.ListenPacket("udp4", at.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
}

func TestAPortForBothIsFreeForDatagramsAndHeldForConnections(t *testing.T) {
	at := porttest.Both(t)
	c, err := net.ListenPacket("udp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := chosen(t, at.Port(), 0, "listen"); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("listening: %v", err)
	}
}

func TestAFullPortNeitherAcceptsNorRefuses(t *testing.T) {
	at := porttest.Full(t)
	for range 3 {
		c, err := net.DialTimeout("tcp", at.String(), 50*time.Millisecond)
		if err == nil {
			_ = c.Close()
		}
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() {
			t.Errorf("connecting ended with %v", err)
		}
	}
}
