package e2e_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Control messages of PPTP (RFC 2637 §2), as far as a helper reads them.
const (
	pptpStart, pptpStarted = 1, 2
	pptpCall, pptpAnswer   = 7, 8
)

// pptpMessage returns a message of that length with fields at the given offsets.
func pptpMessage(kind uint16, length int, fields map[int]uint16) []byte {
	b := make([]byte, length)
	binary.BigEndian.PutUint16(b, uint16(length))
	binary.BigEndian.PutUint16(b[2:], 1)
	binary.BigEndian.PutUint32(b[4:], 0x1a2b3c4d)
	binary.BigEndian.PutUint16(b[8:], kind)
	for at, v := range fields {
		binary.BigEndian.PutUint16(b[at:], v)
	}
	return b
}

// pptpRead reads one message.
func pptpRead(c net.Conn, kind uint16) ([]byte, error) {
	b := make([]byte, 12)
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, err
	}
	rest := make([]byte, int(binary.BigEndian.Uint16(b))-12)
	if _, err := io.ReadFull(c, rest); err != nil {
		return nil, err
	}
	if got := binary.BigEndian.Uint16(b[8:]); got != kind {
		return nil, fmt.Errorf("message %d, want %d", got, kind)
	}
	return append(b, rest...), nil
}

// greFrame is a packet of the tunnel to a call (RFC 2637 §4.1).
func greFrame(call uint16, text string) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0x30, 0x01, 0x88, 0x0b}, uint16(len(text)))
	b = binary.BigEndian.AppendUint16(b, call)
	return append(append(b, 0, 0, 0, 1), text...)
}

// pptpServer accepts calls, all with the same number at each server, and sends its name and
// the client address in the tunnel.
func pptpServer(m *housetest.Machine, call uint16) {
	l := m.Listen("tcp", m.V4+":1723")
	gre := m.ListenPacket("ip4:47", m.V4)
	calls := make(chan [2]uint16, 100) // of the client
	each(l, func(c net.Conn) {
		if _, err := pptpRead(c, pptpStart); err != nil {
			return
		}
		_, _ = c.Write(pptpMessage(pptpStarted, 156, map[int]uint16{12: 0x100, 14: 0x100}))
		for {
			asked, err := pptpRead(c, pptpCall)
			if err != nil {
				return
			}
			client := binary.BigEndian.Uint16(asked[12:])
			_, _ = c.Write(pptpMessage(pptpAnswer, 32, map[int]uint16{12: call, 14: client, 16: 0x100}))
			calls <- [2]uint16{call, client}
		}
	})
	go func() {
		b := make([]byte, 2000)
		peers := map[string]uint16{}
		for {
			n, from, err := gre.ReadFrom(b)
			if err != nil {
				return
			}
			if n < 12 || binary.BigEndian.Uint16(b[6:]) != call {
				continue
			}
			if _, known := peers[from.String()]; !known {
				peers[from.String()] = (<-calls)[1]
			}
			_, _ = gre.WriteTo(greFrame(peers[from.String()], fmt.Sprintf("%s sees %s: %s", m.Name, from, b[12:n])), from)
		}
	}()
}

func TestPPTPCallsAndTunnelsPassAFarm(t *testing.T) {
	s := housetest.Plan{Backends: 2, Clients: 2}.Build(housetest.New(t))
	for _, b := range s.Backends {
		pptpServer(b, 0x1234) // both use the same call number
	}
	vips := bothNATs(t, s, 1723, "pptp")
	for _, client := range s.Clients {
		gre := client.ListenPacket("ip4:47", "0.0.0.0")
		for vip, seen := range map[string]string{vips[0]: housetest.ApplianceBack4, vips[1]: address4(client)} {
			c, err := client.Dial(t.Context(), "tcp", netip.MustParseAddrPort(vip+":1723").String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = c.Write(pptpMessage(pptpStart, 156, map[int]uint16{12: 0x100}))
			if _, err := pptpRead(c, pptpStarted); err != nil {
				t.Fatalf("%s: %v", vip, err)
			}
			_, _ = c.Write(pptpMessage(pptpCall, 168, map[int]uint16{12: 7})) // so do both clients
			answer, err := pptpRead(c, pptpAnswer)
			if err != nil {
				t.Fatalf("%s: %v", vip, err)
			}
			call, mine := binary.BigEndian.Uint16(answer[12:]), binary.BigEndian.Uint16(answer[14:])
			if mine != 7 {
				t.Errorf("%s: the answer is to call %d, want 7", vip, mine)
			}
			for range 3 {
				if _, err := gre.WriteTo(greFrame(call, "hello"), &net.IPAddr{IP: net.ParseIP(vip)}); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 2000)
				_ = gre.SetReadDeadline(time.Now().Add(2 * time.Second))
				n, from, err := gre.ReadFrom(b)
				if err != nil {
					t.Errorf("%s, %s: the tunnel delivers nothing: %v", client.Name, vip, err)
					break
				}
				if binary.BigEndian.Uint16(b[6:]) != 7 || from.String() != vip || !strings.HasSuffix(string(b[:n]), " sees "+seen+": hello") {
					t.Errorf("%s, %s: a packet of call %d from %s: %q", client.Name, vip, binary.BigEndian.Uint16(b[6:]), from, b[12:n])
				}
			}
		}
	}
}

// address4 returns the first IPv4 address of a client.
func address4(n *housetest.Namespace) string {
	fields := strings.Fields(n.Run("ip", "-4", "-oneline", "address", "show", "dev", "eth0"))
	address, _, _ := strings.Cut(fields[3], "/")
	return address
}
