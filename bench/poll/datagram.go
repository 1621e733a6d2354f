package poll

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"
)

// Datagrams opens a UDP socket that is bound to an IPv4 address.
func Datagrams(on netip.AddrPort) (int, error) {
	fd, err := datagramSocket()
	if err != nil {
		return -1, err
	}
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<20)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(on.Port()), Addr: on.Addr().As4()}); err != nil {
		Close(fd)
		return -1, fmt.Errorf("bind %s: %w", on, err)
	}
	return fd, nil
}

// DialDatagrams opens a UDP socket that is connected to an IPv4 address.
func DialDatagrams(to netip.AddrPort) (int, error) {
	fd, err := datagramSocket()
	if err != nil {
		return -1, err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		Close(fd)
		return -1, err
	}
	return fd, nil
}

func datagramSocket() (int, error) {
	return syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
}

// Echo returns one queued datagram of an unconnected socket to its sender. It returns
// EAGAIN if there is none.
func Echo(fd int, buf []byte) syscall.Errno {
	var from syscall.RawSockaddrInet4
	size := uint32(unsafe.Sizeof(from))
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), uintptr(len(buf)),
		syscall.MSG_DONTWAIT, uintptr(unsafe.Pointer(&from)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return errno
	}
	_, _, errno = syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(buf))), n,
		syscall.MSG_DONTWAIT, uintptr(unsafe.Pointer(&from)), uintptr(size))
	if errno == syscall.EAGAIN {
		return 0 // lost; the client detects it
	}
	return errno
}

// Number writes n into the first bytes of a datagram.
func Number(b []byte, n uint64) { binary.LittleEndian.PutUint64(b, n) }

// NumberOf is the inverse of Number.
func NumberOf(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
