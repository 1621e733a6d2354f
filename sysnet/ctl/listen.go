package ctl

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// backlog is what is asked for; the kernel cuts it to net.core.somaxconn.
const backlog = 65535

// listenTCP opens one listening socket of a SO_REUSEPORT group: non-blocking,
// close-on-exec. TCP_NODELAY is set here because accepted sockets inherit it,
// which saves the engine one system call per connection.
func listenTCP(addr netip.AddrPort) (*os.File, error) {
	fd, err := boundTCP(addr, true)
	if err != nil {
		return nil, err
	}
	if err := unix.Listen(fd, backlog); err != nil {
		_ = unix.Close(fd)
		return nil, explain(addr, os.NewSyscallError("listen", err))
	}
	return os.NewFile(uintptr(fd), KeyTCP(addr)), nil
}

// probeTCP reports whether the address could be bound by a socket that shares
// with nobody. A group with SO_REUSEPORT would silently split the connections
// with any other program of the same uid that set the option too; a plain bind
// fails as soon as anyone at all listens there.
func probeTCP(addr netip.AddrPort) error {
	fd, err := boundTCP(addr, false)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// boundTCP returns a bound socket. SO_REUSEADDR lets it ignore connections
// that linger from an earlier listener on the same port, not listeners.
func boundTCP(addr netip.AddrPort, share bool) (int, error) {
	family, sa := sockaddr(addr)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, explain(addr, os.NewSyscallError("socket", err))
	}
	options := []struct {
		level, name int
		wanted      bool
	}{
		{unix.SOL_SOCKET, unix.SO_REUSEADDR, true},
		{unix.SOL_SOCKET, unix.SO_REUSEPORT, share},
		{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, family == unix.AF_INET6},
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, share},
	}
	for _, o := range options {
		if !o.wanted {
			continue
		}
		if err := unix.SetsockoptInt(fd, o.level, o.name, 1); err != nil {
			_ = unix.Close(fd)
			return -1, explain(addr, os.NewSyscallError("setsockopt", err))
		}
	}
	if err := unix.Bind(fd, sa); err != nil {
		_ = unix.Close(fd)
		return -1, explain(addr, os.NewSyscallError("bind", err))
	}
	return fd, nil
}

func sockaddr(addr netip.AddrPort) (family int, sa unix.Sockaddr) {
	if addr.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(addr.Port()), Addr: addr.Addr().As16()}
}

// explain turns the kernel's number into what an operator can act on.
func explain(addr netip.AddrPort, err error) *Error {
	switch {
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return refusal(CodeNotLocal, "cannot listen on %s: no interface of this machine has the address %s", addr, addr.Addr())
	case errors.Is(err, unix.EADDRINUSE):
		return refusal(CodeInUse, "cannot listen on %s: another program uses this address and port already", addr)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return refusal(CodeNotPermitted, "cannot listen on %s: not permitted to an ordinary user, ports below %d need root or CAP_NET_BIND_SERVICE", addr, unprivilegedFrom())
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return refusal(CodeTooMany, "cannot listen on %s: the limit of open files is reached", addr)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return refusal(CodeNotLocal, "cannot listen on %s: this machine has no IPv6", addr)
	}
	return refusal(CodeFailed, "cannot listen on %s: %v", addr, err)
}

// unprivilegedFrom is the first port an ordinary user may bind.
func unprivilegedFrom() int {
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	if err != nil {
		return 1024
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 1024
	}
	return n
}
