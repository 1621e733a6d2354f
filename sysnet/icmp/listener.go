package icmp

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxMessage bounds a message in bytes. Senders fill 576 or 1,280 bytes with the quoted
// packet (RFC 1812 §4.3.2.3, RFC 4443 §2.4); few use jumbo frames.
const maxMessage = 9216

// Listener receives the ICMP errors of all interfaces of its network namespace, and sends
// packets. It is not safe for concurrent use.
type Listener struct {
	heard [2]int // packet sockets, IPv4 and IPv6
	raw   [2]int // raw sockets, which send along the routes
	buf   []byte
}

// Heard is a received message.
type Heard struct {
	*Message
	Index int // of the receiving interface
}

// Listen returns a Listener in the network namespace of the calling thread.
func Listen() (*Listener, error) {
	l := &Listener{heard: [2]int{-1, -1}, raw: [2]int{-1, -1}, buf: make([]byte, maxMessage)}
	for i, family := range []struct {
		protocol uint16
		filter   []unix.SockFilter
		domain   int
	}{{unix.ETH_P_IP, filter4, unix.AF_INET}, {unix.ETH_P_IPV6, filter6, unix.AF_INET6}} {
		var err error
		if l.heard[i], err = packetSocket(family.protocol, family.filter); err == nil {
			l.raw[i], err = unix.Socket(family.domain, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
		}
		if err != nil && !(i == 1 && errors.Is(err, unix.EAFNOSUPPORT)) { // the kernel lacks IPv6
			l.Close()
			return nil, fmt.Errorf("listening for ICMP: %w", err)
		}
	}
	return l, nil
}

// packetSocket returns a socket that receives packets accepted by the filter, from the IP
// header on.
func packetSocket(protocol uint16, filter []unix.SockFilter) (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err = os.NewSyscallError("setsockopt", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program))
	if err == nil { // nothing is received before bind
		err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(protocol)}))
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func htons(n uint16) uint16 { return n<<8 | n>>8 }

// Close closes all sockets.
func (l *Listener) Close() {
	for _, fd := range append(l.heard[:], l.raw[:]...) {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// Next waits for a message, at most wait. ok is false after the timeout. The message is
// valid until the next call.
func (l *Listener) Next(wait time.Duration) (h Heard, ok bool, err error) {
	until := time.Now().Add(wait)
	for {
		for i, fd := range l.heard {
			if fd < 0 {
				continue
			}
			if h, ok := l.take(i); ok {
				return h, true, nil
			}
		}
		left := time.Until(until)
		if left <= 0 {
			return Heard{}, false, nil
		}
		polled := []unix.PollFd{{Fd: int32(l.heard[0]), Events: unix.POLLIN}, {Fd: int32(l.heard[1]), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, int(left/time.Millisecond)+1); err != nil && !errors.Is(err, unix.EINTR) {
			return Heard{}, false, os.NewSyscallError("poll", err)
		}
	}
}

// maxTaken bounds the number of skipped packets before the time is checked again.
const maxTaken = 64

// take reads queued packets until one of them is a message.
func (l *Listener) take(family int) (Heard, bool) {
	for range maxTaken {
		n, from, err := unix.Recvfrom(l.heard[family], l.buf, 0)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENETDOWN) {
			continue // ENETDOWN is reported once when an interface goes down
		}
		if err != nil {
			return Heard{}, false
		}
		at, is := from.(*unix.SockaddrLinklayer)
		if !is || at.Pkttype != unix.PACKET_HOST {
			continue
		}
		if m, ok := Parse(l.buf[:n]); ok {
			return Heard{m, at.Ifindex}, true
		}
	}
	return Heard{}, false
}

// SendTo sends a packet through an interface to a MAC address.
func (l *Listener) SendTo(index int, mac [6]byte, packet []byte) error {
	to := &unix.SockaddrLinklayer{Ifindex: index, Halen: 6, Protocol: htons(unix.ETH_P_IP)}
	family := 0
	if packet[0]>>4 == 6 {
		family, to.Protocol = 1, htons(unix.ETH_P_IPV6)
	}
	copy(to.Addr[:], mac[:])
	return os.NewSyscallError("sendto", unix.Sendto(l.heard[family], packet, 0, to))
}

// Send sends a packet, including its IP header, along the routes.
func (l *Listener) Send(packet []byte) error {
	if packet[0]>>4 == 6 {
		return os.NewSyscallError("sendto", unix.Sendto(l.raw[1], packet, 0, &unix.SockaddrInet6{Addr: [16]byte(packet[24:40])}))
	}
	return os.NewSyscallError("sendto", unix.Sendto(l.raw[0], packet, 0, &unix.SockaddrInet4{Addr: [4]byte(packet[16:20])}))
}
