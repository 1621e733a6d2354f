package loop

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These calls are raw for the same reason as sysRecv and sysSend in conn.go.

func sysClose(fd int) {
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

func sysShutdown(fd, how int) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), uintptr(how), 0)
	return e
}

// sysAccept accepts one connection. sa receives the peer address and belongs to the
// caller.
func sysAccept(fd int, sa *unix.RawSockaddrAny) (int, syscall.Errno) {
	size := uint32(unsafe.Sizeof(*sa))
	n, _, e := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), uintptr(unsafe.Pointer(sa)), uintptr(unsafe.Pointer(&size)), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
	return int(n), e
}

func sysConnect(fd int, sa *unix.RawSockaddrAny, size uint32) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(sa)), uintptr(size))
	return e
}

func sysSocket(family int) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall(unix.SYS_SOCKET, uintptr(family), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	return int(n), e
}

// encodeAddr writes ap as a sockaddr and returns its size (linux/in.h, linux/in6.h:
// family in host order, port in network order).
func encodeAddr(sa *unix.RawSockaddrAny, ap netip.AddrPort) uint32 {
	if ap.Addr().Is4() || ap.Addr().Is4In6() {
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		in.Family = unix.AF_INET
		in.Addr = ap.Addr().As4()
		binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&in.Port))[:], ap.Port())
		return unix.SizeofSockaddrInet4
	}
	in := (*unix.RawSockaddrInet6)(unsafe.Pointer(sa))
	*in = unix.RawSockaddrInet6{Family: unix.AF_INET6, Addr: ap.Addr().As16()}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&in.Port))[:], ap.Port())
	return unix.SizeofSockaddrInet6
}

// decodeAddr returns the address in a sockaddr filled in by accept4 or getsockname.
func decodeAddr(sa *unix.RawSockaddrAny) netip.AddrPort {
	switch sa.Addr.Family {
	case unix.AF_INET:
		in := (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&in.Port))[:]))
	case unix.AF_INET6:
		in := (*unix.RawSockaddrInet6)(unsafe.Pointer(sa))
		return netip.AddrPortFrom(netip.AddrFrom16(in.Addr).Unmap(), binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&in.Port))[:]))
	}
	return netip.AddrPort{}
}

func family(a netip.Addr) int {
	if a.Is4() || a.Is4In6() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func sysGetsockname(fd int, sa *unix.RawSockaddrAny, size *uint32) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(sa)), uintptr(unsafe.Pointer(size)))
	return e
}

// sysSetTimer makes a timerfd fire once after the given duration.
func sysSetTimer(fd int, after time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	_, _, _ = syscall.RawSyscall6(unix.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}
