package forward_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// across gives the farm the other IP version than its backends.
func across(f farm.Farm, at netip.AddrPort) farm.Farm {
	f.VIP, f.L4.Ports = at.Addr(), []farm.PortRange{{First: at.Port(), Last: at.Port()}}
	return f
}

func TestRelaysConnectBackendsOfTheOtherIPVersion(t *testing.T) {
	echo := serve(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	a := newAppliance(t, 2)
	f := across(a.farm(echo.Addr().String()), a.Listen(t, "::1"))
	a.publish(f)
	c := a.dial(f)
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "ping" {
		t.Errorf("%q %v", got, err)
	}
}

func TestDatagramsGoToBackendsOfTheOtherIPVersion(t *testing.T) {
	ln, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	_ = ln.SetDeadline(time.Now().Add(20 * time.Second))
	a := newAppliance(t, 2)
	f := a.farmUDP(ln.LocalAddr().String())
	a.publish(f)
	c := a.dialUDP(f)
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	n, from, err := ln.ReadFromUDPAddrPort(buf)
	if err != nil || string(buf[:n]) != "ping" {
		t.Fatalf("%q %v", buf[:n], err)
	}
	if _, err := ln.WriteToUDPAddrPort([]byte("pong"), from); err != nil {
		t.Fatal(err)
	}
	if n, err = c.Read(buf); err != nil || string(buf[:n]) != "pong" {
		t.Errorf("%q %v", buf[:n], err)
	}
}
