package loop

import (
	"encoding/binary"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below are raw on purpose: every descriptor is non-blocking, so
// they return at once, and telling the scheduler about each costs a tenth of
// the whole request (0.94 instead of 0.85 of HAProxy's CPU time). Only the
// poller's wait blocks, and that one is an ordinary system call.

func sysRecv(fd int, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), 0, 0, 0)
	return int(n), e
}

// sysPeek is sysRecv that leaves the bytes where they are.
func sysPeek(fd int, p []byte) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), unix.MSG_PEEK, 0, 0)
	return int(n), e
}

func sysSend(fd int, p []byte, flags int) (int, syscall.Errno) {
	n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), uintptr(flags|unix.MSG_NOSIGNAL), 0, 0)
	return int(n), e
}

func sysClose(fd int) {
	_, _, _ = syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
}

func sysShutdown(fd, how int) syscall.Errno {
	_, _, e := syscall.RawSyscall(unix.SYS_SHUTDOWN, uintptr(fd), uintptr(how), 0)
	return e
}

// sysAccept takes one connection; sa is scratch space owned by the caller.
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

// encodeAddr writes ap in the kernel's form and returns its size
// (linux/in.h, linux/in6.h: family in host order, port in network order).
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

// decodeAddr reads what accept4 or getsockname filled in.
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
