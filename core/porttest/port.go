// Package porttest reserves ports of this machine for tests.
//
// A test that needs a port before its server starts cannot take one from the kernel and
// release it: another test could get it meanwhile. Ports of this package stay reserved
// until the test ends. A socket that never listens is bound to them. With SO_REUSEADDR,
// Linux lets another socket with that option, which every server sets, listen on the
// same port. The kernel does not choose such a port for others. Until a server listens,
// connections are refused.
package porttest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// TCP returns a port of 127.0.0.1 that is reserved until the test ends.
func TCP(t testing.TB) netip.AddrPort {
	t.Helper()
	at, err := hold(t, netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal("no port can be had:", err)
	}
	return at
}

// Hold reserves a given address for the test and reports whether that was possible.
func Hold(t testing.TB, at netip.AddrPort) bool {
	t.Helper()
	if _, err := hold(t, at); err != nil {
		return false
	}
	// Binding beside a listener succeeds only if that has SO_REUSEADDR too.
	ln, err := net.Listen("tcp", at.String())
	if err == nil {
		_ = ln.Close()
	}
	return err == nil
}

// UDP returns a port of 127.0.0.1 for datagrams. UDP sockets cannot share a port in
// this way. The port is therefore reserved by the TCP port of the same number, which
// all users of this package respect. It lies below the kernel's ephemeral range.
func UDP(t testing.TB) netip.AddrPort {
	t.Helper()
	var err error
	for range 1000 {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(10_000+rand.IntN(22_000)))
		var c net.PacketConn
		if c, err = net.ListenPacket("udp4", at.String()); err != nil {
			continue
		}
		ok := alone(t, at)
		_ = c.Close()
		if ok {
			return at
		}
	}
	t.Fatal("no port can be had:", err)
	return netip.AddrPort{}
}

// Both returns a port of 127.0.0.1 for TCP and UDP. Connections are refused until a
// server listens; the UDP port is free at the time of the call.
func Both(t testing.TB) netip.AddrPort {
	t.Helper()
	for range 1000 {
		at := TCP(t)
		if c, err := net.ListenPacket("udp4", at.String()); err == nil {
			_ = c.Close()
			return at
		}
	}
	t.Fatal("no port is free for both")
	return netip.AddrPort{}
}

// alone reserves a TCP port that nothing else has bound, including this package.
func alone(t testing.TB, at netip.AddrPort) bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if syscall.Bind(fd, address(at)) != nil {
		_ = syscall.Close(fd)
		return false
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return true
}

func hold(t testing.TB, at netip.AddrPort) (netip.AddrPort, error) {
	family := syscall.AF_INET
	if at.Addr().Is6() {
		family = syscall.AF_INET6
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return at, os.NewSyscallError("socket", err)
	}
	port, err := bind(fd, at)
	if err != nil {
		_ = syscall.Close(fd)
		return at, err
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	return netip.AddrPortFrom(at.Addr(), port), nil
}

func bind(fd int, at netip.AddrPort) (uint16, error) {
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return 0, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, address(at)); err != nil {
		return 0, fmt.Errorf("bind %v: %w", at, err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, os.NewSyscallError("getsockname", err)
	}
	switch b := bound.(type) {
	case *syscall.SockaddrInet4:
		return uint16(b.Port), nil
	case *syscall.SockaddrInet6:
		return uint16(b.Port), nil
	}
	return 0, fmt.Errorf("bound to %T", bound)
}

func address(at netip.AddrPort) syscall.Sockaddr {
	if at.Addr().Is6() {
		return &syscall.SockaddrInet6{Addr: at.Addr().As16(), Port: int(at.Port())}
	}
	return &syscall.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
}
