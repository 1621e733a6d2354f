package enginetest

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
)

// Listen opens one TCP socket per loop on a port chosen by the kernel.
func (h *House) Listen(t testing.TB, ip string) netip.AddrPort {
	t.Helper()
	return h.each(t, farm.L4TCP, net.JoinHostPort(ip, "0"), func(addr string) (*os.File, string) {
		ln, err := shared(true).Listen(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		f, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		return f, ln.Addr().String()
	})
}

// ListenUDP is Listen for UDP. With SO_REUSEPORT the kernel could choose the port of
// another test, so the port is reserved first.
func (h *House) ListenUDP(t testing.TB, ip string) netip.AddrPort {
	t.Helper()
	return h.udp(t, net.JoinHostPort(ip, strconv.Itoa(int(porttest.UDP(t).Port()))))
}

func (h *House) udp(t testing.TB, addr string) netip.AddrPort {
	t.Helper()
	return h.each(t, farm.L4UDP, addr, func(addr string) (*os.File, string) {
		c, err := shared(false).ListenPacket(t.Context(), "udp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.(*net.UDPConn).SetReadBuffer(2 << 20) // as netd does
		f, err := c.(*net.UDPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		return f, c.LocalAddr().String()
	})
}

// ListenBoth is Listen for TCP and UDP on the same port.
func (h *House) ListenBoth(t testing.TB, ip string) netip.AddrPort {
	t.Helper()
	for range 20 { // the kernel ensures that the port is free for only one of them
		at := h.Listen(t, ip)
		c, err := shared(false).ListenPacket(t.Context(), "udp", at.String())
		if err != nil {
			continue
		}
		defer c.Close() // after the other sockets are bound
		return h.udp(t, at.String())
	}
	t.Fatal("no port is free for both")
	return netip.AddrPort{}
}

// each calls open once per loop, first with addr, then with the address bound by the
// first call.
func (h *House) each(t testing.TB, transport farm.L4Protocol, addr string, open func(addr string) (*os.File, string)) netip.AddrPort {
	t.Helper()
	var files []*os.File
	for range h.Loops {
		var f *os.File
		f, addr = open(addr)
		files = append(files, f)
	}
	at := netip.MustParseAddrPort(addr)
	h.Files[farm.Listener{Transport: transport, Addr: at}.Key()] = files
	return at
}

// soReusePort is SO_REUSEPORT, which allows one socket per loop on one port.
const soReusePort = 15

// shared returns a ListenConfig for sockets that share a port. As in netd, TCP sockets have
// TCP_NODELAY, which accepted connections inherit, and do not use Multipath TCP.
func shared(tcp bool) *net.ListenConfig {
	lc := &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
			if failed == nil && tcp {
				failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
			}
		})
		if err != nil {
			return err
		}
		return failed
	}}
	lc.SetMultipathTCP(false)
	return lc
}
