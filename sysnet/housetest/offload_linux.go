package housetest

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of ethtool (linux/ethtool.h).
const (
	setTxChecksum = 0x17
	setTSO        = 0x1f
	setGSO        = 0x24
	setGRO        = 0x2c
)

// Plain disables the offloads of the device at both ends. Its frames then have complete
// checksums and fit the MTU, as on real devices.
func (l *Link) Plain() {
	l.h.t.Helper()
	for _, end := range []struct {
		in     *Namespace
		device string
	}{{l.In, l.Name}, {l.h.wires, l.port}} {
		var err error
		end.in.Do(func() { err = plain(end.device) })
		if err != nil {
			l.h.t.Fatalf("%s: offloads of %s: %v", end.in.Name, end.device, err)
		}
	}
}

func plain(device string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, command := range []uint32{setTSO, setGSO, setGRO, setTxChecksum} {
		value := [2]uint32{command, 0}
		var request struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte
		}
		copy(request.name[:], device)
		request.data = unsafe.Pointer(&value)
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
			return errno
		}
	}
	return nil
}
