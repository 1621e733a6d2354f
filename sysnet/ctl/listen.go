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

// receiveBuffer is what is asked for datagrams that wait while the engine does
// something else, or is being started again.
const receiveBuffer = 2 << 20

// listen opens one socket of a SO_REUSEPORT group: non-blocking, close-on-exec.
func (p endpoint) listen() (*os.File, error) {
	fd, err := p.bound(true)
	if err != nil {
		return nil, err
	}
	if p.network == "tcp" {
		if err := unix.Listen(fd, backlog); err != nil {
			_ = unix.Close(fd)
			return nil, explain(p.addr, os.NewSyscallError("listen", err))
		}
	}
	// In this order: of a socket that is non-blocking already the runtime would
	// watch what comes in, which wakes netd for every connection and datagram of
	// the engine's.
	file := os.NewFile(uintptr(fd), p.key())
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = file.Close()
		return nil, explain(p.addr, os.NewSyscallError("fcntl", err))
	}
	return file, nil
}

// probe reports whether the endpoint could be bound by a socket that shares with
// nobody. A group with SO_REUSEPORT would silently split the clients with any
// other program of the same uid that set the option too; a plain bind fails as
// soon as anyone at all is there.
func (p endpoint) probe() error {
	fd, err := p.bound(false)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// option is one to set on a socket before it is bound.
type option struct {
	level, name int
	wanted      bool
}

// options are those of a socket that is to share its endpoint or not.
//
// TCP: SO_REUSEADDR lets it ignore connections that linger from an earlier
// listener on the same port, not listeners. TCP_NODELAY is set here because
// accepted sockets inherit it, which saves the engine one system call per
// connection.
//
// UDP: with SO_REUSEADDR others could take the datagrams. Where every address
// is meant each datagram tells which one it came to, from the first one on.
func (p endpoint) options(share bool) []option {
	v6, all := p.addr.Addr().Is6(), p.addr.Addr().IsUnspecified()
	list := []option{
		{unix.SOL_SOCKET, unix.SO_REUSEPORT, share},
		{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, v6},
	}
	if p.network == "tcp" {
		return append(list, option{unix.SOL_SOCKET, unix.SO_REUSEADDR, true}, option{unix.IPPROTO_TCP, unix.TCP_NODELAY, share})
	}
	return append(list, option{unix.SOL_IP, unix.IP_PKTINFO, all && !v6}, option{unix.SOL_IPV6, unix.IPV6_RECVPKTINFO, all && v6})
}

// bound returns a bound socket.
func (p endpoint) bound(share bool) (int, error) {
	family, sa := sockaddr(p.addr)
	kind, protocol := unix.SOCK_STREAM, unix.IPPROTO_TCP
	if p.network == "udp" {
		kind, protocol = unix.SOCK_DGRAM, unix.IPPROTO_UDP
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return -1, explain(p.addr, os.NewSyscallError("socket", err))
	}
	for _, o := range p.options(share) {
		if !o.wanted {
			continue
		}
		if err := unix.SetsockoptInt(fd, o.level, o.name, 1); err != nil {
			_ = unix.Close(fd)
			return -1, explain(p.addr, os.NewSyscallError("setsockopt", err))
		}
	}
	if p.network == "udp" && unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer) // as much as an ordinary user may have
	}
	if err := unix.Bind(fd, sa); err != nil {
		_ = unix.Close(fd)
		return -1, explain(p.addr, os.NewSyscallError("bind", err))
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
		return rejection(CodeNotLocal, "cannot listen on %s: no interface of this machine has the address %s", addr, addr.Addr())
	case errors.Is(err, unix.EADDRINUSE):
		return rejection(CodeInUse, "cannot listen on %s: another program uses this address and port already", addr)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return rejection(CodeNotPermitted, "cannot listen on %s: not permitted to an ordinary user, ports below %d need root or CAP_NET_BIND_SERVICE", addr, unprivilegedFrom())
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return rejection(CodeTooMany, "cannot listen on %s: the limit of open files is reached", addr)
	case errors.Is(err, unix.EAFNOSUPPORT):
		return rejection(CodeNotLocal, "cannot listen on %s: this machine has no IPv6", addr)
	}
	return rejection(CodeFailed, "cannot listen on %s: %v", addr, err)
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
