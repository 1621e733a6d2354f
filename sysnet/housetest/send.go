package housetest

import (
	"net"

	"github.com/gopacket/gopacket"
	"golang.org/x/sys/unix"
)

// Send sends a frame through the device: the layers from Ethernet on, with correct
// lengths, and with correct checksums if sums is true.
func (l *Link) Send(sums bool, layers ...gopacket.SerializableLayer) {
	l.h.t.Helper()
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: sums}, layers...)
	var fd int
	var index int
	l.In.Do(func() {
		if err != nil {
			return
		}
		var i *net.Interface
		if i, err = net.InterfaceByName(l.Name); err != nil {
			return
		}
		index = i.Index
		fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	})
	if err != nil {
		l.h.t.Fatalf("%s: sending by %s: %v", l.In.Name, l.Name, err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, b.Bytes(), 0, &unix.SockaddrLinklayer{Ifindex: index}); err != nil {
		l.h.t.Fatalf("%s: sending by %s: %v", l.In.Name, l.Name, err)
	}
}
