package housetest

import (
	"net"

	"github.com/gopacket/gopacket"
	"golang.org/x/sys/unix"
)

// Send puts a frame on the wire as if the device's machine had made it: the
// layers from Ethernet on, with right lengths, and right checksums where sums is
// set.
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
