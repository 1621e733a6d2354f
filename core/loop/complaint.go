package loop

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// complaint empties the queue of errors and returns the first that says that
// the peer cannot be reached; 0 for none.
func (o *Outlet) complaint() (found syscall.Errno) {
	d := o.loop.udp
	for range datagramBatch {
		h := unix.Msghdr{Control: &d.errors[0]}
		h.SetControllen(len(d.errors))
		if _, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(o.fd), uintptr(unsafe.Pointer(&h)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT); e != 0 {
			break
		}
		if errno := readComplaint(d.errors[:h.Controllen]); found == 0 && unreachable(errno) {
			found = errno
		}
	}
	// The error itself waits too, though the queue told of it.
	n, err := unix.GetsockoptInt(int(o.fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if errno := syscall.Errno(n); err == nil && found == 0 && unreachable(errno) {
		found = errno
	}
	return found
}

// readComplaint is the errno in the ancillary message of an error (ip(7),
// IP_RECVERR); 0 when there is none.
func readComplaint(b []byte) syscall.Errno {
	for len(b) >= headerSize {
		h := (*unix.Cmsghdr)(unsafe.Pointer(unsafe.SliceData(b)))
		n := int(h.Len)
		if n < headerSize || n > len(b) {
			return 0
		}
		if (h.Level == unix.SOL_IP && h.Type == unix.IP_RECVERR || h.Level == unix.SOL_IPV6 && h.Type == unix.IPV6_RECVERR) && n >= headerSize+4 {
			return syscall.Errno(binary.NativeEndian.Uint32(b[headerSize:]))
		}
		b = b[min(aligned(n), len(b)):]
	}
	return 0
}

// unreachable reports whether an error says that the peer cannot be reached,
// rather than something of one datagram.
func unreachable(errno syscall.Errno) bool {
	switch errno {
	case syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENOPROTOOPT, syscall.ENONET, syscall.ENETDOWN, syscall.EADDRNOTAVAIL:
		return true
	}
	return false
}
