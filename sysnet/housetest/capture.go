package housetest

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"
)

// Frame is one recorded frame.
type Frame struct {
	Outgoing       bool // sent by the namespace of the device
	SrcMAC, DstMAC net.HardwareAddr
	Src, Dst       netip.AddrPort // ports are 0 for protocols without ports
	Protocol       string         // "tcp", "udp", "sctp", "icmp", "icmp6", else the name of the last layer
	TCP            *layers.TCP    // only for TCP
	Payload        []byte         // for TCP and UDP
	Fragment       bool           // one of several
	Packet         gopacket.Packet
}

// BadChecksums returns the layers with a wrong checksum. Frames sent by a namespace have
// complete checksums only after Plain.
func (f *Frame) BadChecksums() (bad []string) {
	if f.Fragment {
		return nil
	}
	for _, layer := range f.Packet.Layers() {
		if l, ok := layer.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok {
			_ = l.SetNetworkLayerForChecksum(f.Packet.NetworkLayer())
		}
	}
	if err, wrong := f.Packet.VerifyChecksums(); err != nil {
		bad = append(bad, err.Error())
	} else {
		for _, w := range wrong {
			bad = append(bad, fmt.Sprintf("%s: %#04x for %#04x", w.Layer.LayerType(), w.Actual, w.Correct))
		}
	}
	return bad
}

// Capture records the frames of one device.
type Capture struct {
	fd       int
	mu       sync.Mutex
	frames   []Frame
	ended    chan struct{}
	stopping atomic.Bool
}

// Capture starts to record the frames of the device, until Stop or the end of the test.
func (l *Link) Capture() *Capture {
	l.h.t.Helper()
	c := &Capture{ended: make(chan struct{})}
	var err error
	l.In.Do(func() { c.fd, err = packetSocket(l.Name) })
	if err != nil {
		l.h.t.Fatalf("%s: recording %s: %v", l.In.Name, l.Name, err)
	}
	go c.read()
	l.h.t.Cleanup(func() { c.Stop() })
	return c
}

func packetSocket(device string) (int, error) {
	i, err := net.InterfaceByName(device)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 32<<20)
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 20_000})
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8, Ifindex: i.Index}); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (c *Capture) read() {
	defer close(c.ended)
	defer unix.Close(c.fd)
	b := make([]byte, 1<<17)
	for {
		stopping := c.stopping.Load() // loaded before reading: frames sent by then are in the queue
		n, from, err := unix.Recvfrom(c.fd, b, 0)
		if err != nil {
			if stopping || err != unix.EAGAIN && err != unix.EINTR && err != unix.ENETDOWN {
				return
			}
			continue
		}
		f := decode(slices.Clone(b[:n]))
		if ll, ok := from.(*unix.SockaddrLinklayer); ok {
			f.Outgoing = ll.Pkttype == unix.PACKET_OUTGOING
		}
		c.mu.Lock()
		c.frames = append(c.frames, f)
		c.mu.Unlock()
	}
}

// Stop ends the recording and returns all frames.
func (c *Capture) Stop() []Frame {
	c.stopping.Store(true)
	<-c.ended
	return c.Frames()
}

// Frames returns the frames recorded so far.
func (c *Capture) Frames() []Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.frames)
}

func decode(raw []byte) Frame {
	p := gopacket.NewPacket(raw, layers.LayerTypeEthernet, gopacket.NoCopy)
	f := Frame{Packet: p}
	var src, dst netip.Addr
	var sport, dport uint16
	for _, layer := range p.Layers() {
		f.Protocol = layer.LayerType().String()
		switch l := layer.(type) {
		case *layers.Ethernet:
			f.SrcMAC, f.DstMAC = l.SrcMAC, l.DstMAC
		case *layers.IPv4:
			src, _ = netip.AddrFromSlice(l.SrcIP)
			dst, _ = netip.AddrFromSlice(l.DstIP)
			f.Fragment = f.Fragment || l.FragOffset > 0 || l.Flags&layers.IPv4MoreFragments != 0
		case *layers.IPv6:
			src, _ = netip.AddrFromSlice(l.SrcIP)
			dst, _ = netip.AddrFromSlice(l.DstIP)
		case *layers.IPv6Fragment:
			f.Fragment = true
		case *layers.TCP:
			sport, dport = uint16(l.SrcPort), uint16(l.DstPort)
			f.Protocol, f.TCP, f.Payload = "tcp", l, l.Payload
		case *layers.UDP:
			sport, dport = uint16(l.SrcPort), uint16(l.DstPort)
			f.Protocol, f.Payload = "udp", l.Payload
		case *layers.SCTP:
			f.Protocol, sport, dport = "sctp", uint16(l.SrcPort), uint16(l.DstPort)
		case *layers.ICMPv4:
			f.Protocol = "icmp"
		case *layers.ICMPv6:
			f.Protocol = "icmp6"
		}
		if f.Protocol == "tcp" || f.Protocol == "udp" || f.Protocol == "sctp" || f.Protocol == "icmp" || f.Protocol == "icmp6" {
			break
		}
	}
	f.Src, f.Dst = netip.AddrPortFrom(src.Unmap(), sport), netip.AddrPortFrom(dst.Unmap(), dport)
	return f
}
