package loop

import (
	"net/netip"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// outletSocket makes the socket and connects it.
func (l *Loop) outletSocket(to netip.AddrPort, o DialOptions) (int, error) {
	v6 := family(to.Addr()) == unix.AF_INET6
	fd, err := l.datagramSocket(v6, o.Mark)
	if err != nil {
		return -1, err
	}
	// Without it only a closed port is told of, and not that a machine is gone.
	if v6 {
		_ = unix.SetsockoptInt(fd, unix.SOL_IPV6, unix.IPV6_RECVERR, 1)
	} else {
		_ = unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_RECVERR, 1)
	}
	together(fd)
	if o.Source.IsValid() {
		if err := unix.Bind(fd, sockaddr(o.Source)); err != nil {
			sysClose(fd)
			return -1, os.NewSyscallError("bind", err)
		}
	}
	size := encodeAddr(&l.addr, to)
	if errno := sysConnect(fd, &l.addr, size); errno != 0 {
		sysClose(fd)
		return -1, os.NewSyscallError("connect", errno)
	}
	return fd, nil
}

func (l *Loop) datagramSocket(v6 bool, mark uint32) (int, error) {
	if mark != 0 && l.marker != nil {
		return l.marker.DatagramSocket(v6, mark)
	}
	domain := unix.AF_INET
	if v6 {
		domain = unix.AF_INET6
	}
	n, _, e := syscall.RawSyscall(unix.SYS_SOCKET, uintptr(domain), unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if e != 0 {
		return -1, os.NewSyscallError("socket", e)
	}
	if mark != 0 {
		if err := unix.SetsockoptInt(int(n), unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
			sysClose(int(n))
			return -1, os.NewSyscallError("setsockopt SO_MARK", err)
		}
	}
	return int(n), nil
}
