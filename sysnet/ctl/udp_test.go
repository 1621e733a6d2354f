package ctl_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

func openedUDP(t *testing.T, c *ctl.Client, addr netip.AddrPort, count int) []*os.File {
	t.Helper()
	return openedKey(t, c, ctl.KeyUDP(addr), count)
}

func TestOpenedDatagramSocketsReceive(t *testing.T) {
	path, addr := serve(t), porttest.UDP(t)
	_ = openedUDP(t, ctltest.Client(t, path), addr, 1)[0].Close() // simulates the death of the engine
	c, err := net.Dial("udp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("waits")); err != nil {
		t.Fatal(err)
	}
	in, err := net.FilePacketConn(openedUDP(t, ctltest.Client(t, path), addr, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	_ = in.SetDeadline(time.Now().Add(5 * time.Second))
	b := make([]byte, 10)
	if n, _, err := in.ReadFrom(b); err != nil || string(b[:n]) != "waits" {
		t.Errorf("got %q, %v", b[:n], err)
	}
}

func TestDatagramsAndConnectionsShareAnAddress(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.TCP(t)
	openSockets(t, c, addr, 2)
	openedUDP(t, c, addr, 2)
	keys, err := c.List(t.Context())
	if err != nil || len(keys) != 2 || keys[0] != ctl.KeyTCP(addr) || keys[1] != ctl.KeyUDP(addr) {
		t.Fatalf("list: %v, %v", keys, err)
	}
	if err := c.Close(t.Context(), ctl.KeyTCP(addr)); err != nil {
		t.Fatal(err)
	}
	if keys, _ := c.List(t.Context()); len(keys) != 1 || keys[0] != ctl.KeyUDP(addr) {
		t.Errorf("list after closing one: %v", keys)
	}
}

func TestForeignDatagramSocketIsACollision(t *testing.T) {
	for _, share := range []bool{false, true} {
		l, err := sharing(share).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addr := l.LocalAddr().(*net.UDPAddr).AddrPort()
		c := ctltest.Client(t, serve(t))
		if _, err = c.Open(t.Context(), ctl.KeyUDP(addr), 2); !errors.Is(err, ctl.ErrInUse) {
			t.Errorf("shared %v: got %v, want ErrInUse", share, err)
		}
		other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), addr.Port())
		openedUDP(t, c, other, 1)
		any4 := netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())
		if _, err = c.Open(t.Context(), ctl.KeyUDP(any4), 1); !errors.Is(err, ctl.ErrInUse) {
			t.Errorf("shared %v, all addresses next to our own: got %v, want ErrInUse", share, err)
		}
	}
}

func TestOwnUDPWildcardDoesNotCollide(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.UDP(t)
	openedUDP(t, c, netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port()), 2)
	openedUDP(t, c, addr, 2)
}

func TestKeysRoundTrip(t *testing.T) {
	for key, want := range map[string]bool{
		"tcp/192.0.2.1:80": true, "udp/[2001:db8::1]:53": true, "sctp/192.0.2.1:80": false, "udp": false, "": false,
		"udp/192.0.2.1": false, "udp/192.0.2.1:080": false,
	} {
		if network, addr, ok := ctl.ParseKey(key); ok != want || ok && ctl.KeyOf(network, addr) != key {
			t.Errorf("%q: %s %s %t", key, network, addr, ok)
		}
	}
}
