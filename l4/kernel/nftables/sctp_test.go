package nftables_test

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// initChunk and initAck are the types of the chunks that begin an association. Both have the
// same layout (RFC 9260 §3.3.2).
const (
	initChunk = 1
	initAck   = 2
)

// sctpPacket returns a packet with such a chunk and the correct checksum.
func sctpPacket(chunk byte, from, to uint16, tag uint32) []byte {
	b := binary.BigEndian.AppendUint16(nil, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = binary.BigEndian.AppendUint32(b, tag)
	b = append(b, 0, 0, 0, 0, chunk, 0, 0, 20)
	b = binary.BigEndian.AppendUint32(b, 77)    // initiate tag
	b = binary.BigEndian.AppendUint32(b, 1<<16) // window
	b = append(b, 0, 1, 0, 1)                   // streams
	b = binary.BigEndian.AppendUint32(b, 5)     // first TSN
	binary.LittleEndian.PutUint32(b[8:], crc32c(b))
	return b
}

// crc32c returns the checksum of a packet, whose checksum field counts as zero.
func crc32c(packet []byte) uint32 {
	b := append([]byte(nil), packet...)
	clear(b[8:12])
	return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
}

// sendRaw sends an SCTP packet from an address of a machine.
func sendRaw(t *testing.T, from *housetest.Namespace, source, to netip.Addr, packet []byte) {
	t.Helper()
	network := "ip4:132"
	if to.Is6() {
		network = "ip6:132"
	}
	c, err := from.DialWith(t.Context(), &net.Dialer{LocalAddr: &net.IPAddr{IP: source.AsSlice()}}, network, to.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(packet); err != nil {
		t.Fatal(err)
	}
}

// awaitSCTP waits for a packet with a chunk of that type, and requires a correct checksum.
func awaitSCTP(t *testing.T, c *housetest.Capture, chunk byte) (found housetest.Frame) {
	t.Helper()
	l4test.Eventually(t, fmt.Sprintf("a packet with chunk %d arrives", chunk), func() bool {
		for _, f := range c.Frames() {
			s, is := f.Packet.Layer(layers.LayerTypeSCTP).(*layers.SCTP)
			if is && !f.Outgoing && len(s.Payload) > 0 && s.Payload[0] == chunk {
				found = f
				return true
			}
		}
		return false
	})
	s := found.Packet.Layer(layers.LayerTypeSCTP).(*layers.SCTP)
	packet := append(append([]byte(nil), s.Contents...), s.Payload...)
	if got, want := binary.LittleEndian.Uint32(packet[8:]), crc32c(packet); got != want {
		t.Errorf("%v to %v: checksum %#x, want %#x", found.Src, found.Dst, got, want)
	}
	return found
}

// The checksum of SCTP covers the ports, which may be rewritten on both ways.
func TestPortsOfSCTPAreRewrittenWithTheChecksum(t *testing.T) {
	s := newPacketSite(t, 1)
	port := uint16(7000)
	for _, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget, farm.NATStateless} {
		for _, ports := range [][]farm.PortRange{{one(80)}, {one(80), one(90)}} {
			eachFamily(t, func(t *testing.T, six bool) {
				s.t = t
				f := s.farm(7, nat, farm.L4SCTP, six, ports...)
				f.L4.Backends[0].Port = 8080
				s.Apply(f)
				client, server := netip.MustParseAddr("10.10.1.2"), f.L4.Backends[0].Addr
				if six {
					client = netip.MustParseAddr("fd00:1::2")
				}
				port++
				back, front := s.Backends[0].Link.Capture(), s.ClientLinks[0].Capture()
				defer back.Stop()
				defer front.Stop()
				virtual := ports[len(ports)-1].First
				sendRaw(t, s.Client, client, f.VIP, sctpPacket(initChunk, port, virtual, 0))
				arrived := awaitSCTP(t, back, initChunk)
				if arrived.Dst != netip.AddrPortFrom(server, 8080) {
					t.Errorf("%s: the packet went to %v", nat, arrived.Dst)
				}
				sendRaw(t, s.Backends[0].Namespace, server, arrived.Src.Addr(), sctpPacket(initAck, 8080, arrived.Src.Port(), 77))
				answer := awaitSCTP(t, front, initAck)
				if answer.Src != netip.AddrPortFrom(f.VIP, virtual) || answer.Dst != netip.AddrPortFrom(client, port) {
					t.Errorf("%s: the answer is from %v to %v", nat, answer.Src, answer.Dst)
				}
			})
		}
	}
}
