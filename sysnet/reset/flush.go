// Package reset ends tracked connections so that both of their ends notice.
//
// The kernel forgets a connection without a word. An end that sends something gets a reset
// then, but a client that only waits, e.g. for a message, would wait until its own
// time-out. So each end is sent an acknowledgement that fits no connection. It answers with
// an acknowledgement of its own (RFC 9293 §3.10.7.4), which nobody expects any more, and
// the reset in return has the sequence number that the end accepts. Nothing else could know
// that number: connection tracking does not tell it.
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

// Flush is conntrack.FlushOnly, after which the ends of connections of TCP are told. Of
// more than conntrack.MaxListed connections the others notice with their next packet.
func Flush(ctx context.Context, only func(backend uint32) bool) (int, error) {
	f := conntrack.Farms()
	f.Protocol = unix.IPPROTO_TCP
	f.Only = func(mark uint32) bool { id, ok := conntrack.BackendOf(mark); return ok && only(id) }
	page, listed := conntrack.List(ctx, f, nil, conntrack.MaxListed)
	n, err := conntrack.FlushOnly(ctx, only)
	if err == nil && listed == nil && len(page.Entries) > 0 {
		tell(page.Entries) // best effort: the connections are ended anyway
	}
	return n, err
}

// tell sends both ends of established connections an acknowledgement that makes them respond.
func tell(list []conntrack.Entry) {
	s := sender{unix.AF_INET: -1, unix.AF_INET6: -1}
	defer s.close()
	tellBy(list, func(from, to netip.AddrPort) { _ = s.send(from, to) })
}

// tellBy calls send for each end of an established connection: from the address that the
// end knows, to the end.
func tellBy(list []conntrack.Entry, send func(from, to netip.AddrPort)) {
	for i := range list {
		if e := &list[i]; e.State == "established" {
			send(e.To, e.Client)
			send(e.Via, e.Backend)
		}
	}
}

// sender holds a raw socket per address family, -1 until it is needed.
type sender map[int]int

func (s sender) close() {
	for _, fd := range s {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// send sends an acknowledgement from one address to another, along the routes.
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

// unacceptable are the numbers of the acknowledgement. They are fixed: with any a window
// fits one time in some ten thousand, and then the end notices with its next packet.
const unacceptable = 0x5c5c5c5c

// acknowledgement makes the packet, IP header and all.
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
