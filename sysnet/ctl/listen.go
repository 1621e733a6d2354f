package ctl

import (
	"errors"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// backlog is the requested backlog. The kernel limits it to net.core.somaxconn.
const backlog = 65535

// receiveBuffer is the requested SO_RCVBUF in bytes. It holds datagrams while the engine
// is busy or restarting.
const receiveBuffer = 2 << 20

// listen opens one socket of an SO_REUSEPORT group, non-blocking and close-on-exec.
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
	// SetNonblock comes last: the runtime polls a file that is non-blocking at creation,
	// which would wake netd for every connection and datagram of the engine.
	file := os.NewFile(uintptr(fd), p.key())
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = file.Close()
		return nil, explain(p.addr, os.NewSyscallError("fcntl", err))
	}
	return file, nil
}

// probe returns nil if a socket without SO_REUSEPORT can bind the endpoint. With
// SO_REUSEPORT, the kernel would silently split clients with any other program of the
// same uid that sets it. A plain bind fails if any other socket is bound.
func (p endpoint) probe() error {
	fd, err := p.bound(false)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// option is a boolean socket option to set before bind.
type option struct {
	level, name int
	wanted      bool
}

// options returns the options of a socket that shares its endpoint (share) or not.
//
// TCP: SO_REUSEADDR ignores connections in TIME_WAIT of an earlier listener on the port,
// but not listeners. Accepted sockets inherit TCP_NODELAY, which saves the engine one
// system call per connection.
//
// UDP: SO_REUSEADDR is not set because it would let other programs take the datagrams. A
// wildcard socket gets PKTINFO before bind, so the first datagram already has its
// destination address.
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
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, receiveBuffer) // limited to net.core.rmem_max
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

// explain converts an errno into a message for operators.
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

// unprivilegedFrom returns the first port that an ordinary user may bind.
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
