package poll

import (
	"fmt"
	"net/netip"
	"syscall"
	"unsafe"
)

// Discard makes Recv discard the bytes inside the kernel instead of copying them (tcp(7),
// MSG_TRUNC).
const Discard = syscall.MSG_TRUNC

// Recv reads into b without blocking. It returns EAGAIN if no data is available, and 0
// bytes after the end of the stream.
func Recv(fd int, b []byte, flags int) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		uintptr(flags|syscall.MSG_DONTWAIT), 0, 0)
	return int(n), errno
}

// Send writes as much of b as the socket accepts, without blocking.
func Send(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd),
		uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
	return int(n), errno
}

// Close closes a socket and ignores errors.
func Close(fd int) { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0) }

// Dial starts a connection to an IPv4 address. The socket is non-blocking with
// TCP_NODELAY. It becomes writable when the connect completes, and Failure then returns
// its error.
func Dial(to netip.AddrPort) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	sa := &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	if err := syscall.Connect(fd, sa); err != nil && err != syscall.EINPROGRESS {
		Close(fd)
		return -1, err
	}
	return fd, nil
}

// Failure returns, and clears, the pending error of a socket; nil means none.
func Failure(fd int) error {
	v, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err != nil {
		return err
	}
	if v != 0 {
		return syscall.Errno(v)
	}
	return nil
}

// Listen opens a listening IPv4 socket. SO_REUSEPORT is deliberately not set:
// a second listener on the port must fail instead of sharing the connections.
func Listen(on netip.AddrPort) (int, error) {
	fd, err := socket()
	if err != nil {
		return -1, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		Close(fd)
		return -1, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(on.Port()), Addr: on.Addr().As4()}); err != nil {
		Close(fd)
		return -1, fmt.Errorf("bind %s: %w", on, err)
	}
	if err := syscall.Listen(fd, 65535); err != nil {
		Close(fd)
		return -1, fmt.Errorf("listen on %s: %w", on, err)
	}
	return fd, nil
}

// Port returns the local port of a socket.
func Port(fd int) (uint16, error) {
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	in4, ok := sa.(*syscall.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("descriptor %d is not an IPv4 socket", fd)
	}
	return uint16(in4.Port), nil
}

// Accept accepts one connection, non-blocking; EAGAIN if there is none. TCP_NODELAY is
// inherited from the listener.
func Accept(fd int) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_ACCEPT4, uintptr(fd), 0, 0,
		syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0, 0)
	return int(n), errno
}

func socket() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1); err != nil {
		Close(fd)
		return -1, err
	}
	return fd, nil
}
