// Package reset deletes tracked connections and notifies both ends.
//
// The kernel deletes a conntrack entry silently. An end that sends something then gets a
// reset, but a client that only waits, e.g. for a message, would wait until its own timeout.
// Each end therefore gets an ACK with an unacceptable sequence number. It responds with an
// ACK of its own (RFC 9293 §3.10.7.4), which no longer matches a connection. The RST in
// response to that has the sequence number that the end accepts. Sending a reset directly is
// impossible, because conntrack does not report that number.
package reset

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/conntrack"
)

// Flush is conntrack.FlushOnly, followed by a notification of both ends of TCP
// connections. At most conntrack.MaxListed connections are notified; the others notice
// with their next packet.
func Flush(ctx context.Context, only func(backend uint32) bool) (int, error) {
	f := conntrack.Farms()
	f.Protocol = unix.IPPROTO_TCP
	f.Only = func(mark uint32) bool { id, ok := conntrack.BackendOf(mark); return ok && only(id) }
	page, listed := conntrack.List(ctx, f, nil, conntrack.MaxListed)
	n, err := conntrack.FlushOnly(ctx, only)
	if err == nil && listed == nil && len(page.Entries) > 0 {
		tell(page.Entries) // best effort: the connections are deleted anyway
	}
	return n, err
}

// tell sends an ACK that triggers a response to both ends of established connections.
func tell(list []conntrack.Entry) {
	s := sender{unix.AF_INET: -1, unix.AF_INET6: -1}
	defer s.close()
	tellBy(list, func(from, to netip.AddrPort) { _ = s.send(from, to) })
}

// tellBy calls send for each end of an established connection. from is the peer address
// that the end knows, to the end itself.
func tellBy(list []conntrack.Entry, send func(from, to netip.AddrPort)) {
	for i := range list {
		if e := &list[i]; e.State == "established" {
			send(e.To, e.Client)
			send(e.Via, e.Backend)
		}
	}
}

// sender holds a raw socket per address family, -1 until used.
type sender map[int]int

func (s sender) close() {
	for _, fd := range s {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// send sends an ACK along the routes.
func (s sender) send(from, to netip.AddrPort) error {
	packet, err := acknowledgement(from, to)
	if err != nil {
		return err
	}
	family, at := unix.AF_INET, unix.Sockaddr(nil)
	if to.Addr().Is4() {
		at = &unix.SockaddrInet4{Addr: to.Addr().As4()}
	} else {
		family, at = unix.AF_INET6, &unix.SockaddrInet6{Addr: to.Addr().As16()}
	}
	if s[family] < 0 {
		fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_RAW)
		if err != nil {
			return os.NewSyscallError("socket", err)
		}
		s[family] = fd
	}
	return os.NewSyscallError("sendto", unix.Sendto(s[family], packet, 0, at))
}

// unacceptable is the sequence and acknowledgement number of the ACK. It is constant: by
// chance it fits into one window in about ten thousand, and then the end notices with its
// next packet.
const unacceptable = 0x5c5c5c5c

// acknowledgement returns the packet including the IP header.
func acknowledgement(from, to netip.AddrPort) ([]byte, error) {
	if from.Addr().Is4() != to.Addr().Is4() || !from.IsValid() || !to.IsValid() {
		return nil, fmt.Errorf("no connection from %s to %s", from, to)
	}
	tcp := &layers.TCP{SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Seq: unacceptable, Ack: unacceptable, ACK: true, Window: 1024}
	var ip interface {
		gopacket.NetworkLayer
		gopacket.SerializableLayer
	} = &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
	if from.Addr().Is6() {
		ip = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
	}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		return nil, err
	}
	b := gopacket.NewSerializeBuffer()
	err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ip, tcp)
	return b.Bytes(), err
}
