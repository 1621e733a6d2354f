package e2e_test

import (
	"encoding/hex"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// connected returns the message by which a terminal accepts a call and sends its control
// address (H.225.0 Connect, in Q.931, in TPKT). The address is at its end, before the call
// number.
func connected(control netip.AddrPort) []byte {
	b, _ := hex.DecodeString("0300002f" + "08028001" + "07" + "7e002305" + "02" + "40" + "060008914a0004" + "00")
	b = append(b, control.Addr().AsSlice()...)
	b = append(b, byte(control.Port()>>8), byte(control.Port()))
	return append(b, make([]byte, 2+16)...) // no terminal type, call 0
}

const controlAt = 4 + 5 + 4 + 2 + 7 + 1

// terminal accepts calls, and sends its name at the control address.
func terminal(m *housetest.Machine) {
	calls, control := m.Listen("tcp", m.V4+":1720"), m.Listen("tcp", m.V4+":30021")
	each(calls, func(c net.Conn) {
		if _, err := c.Read(make([]byte, 100)); err == nil {
			_, _ = c.Write(connected(netip.MustParseAddrPort(control.Addr().String())))
			_, _ = io.Copy(io.Discard, c) // until the call ends
		}
	})
	each(control, func(c net.Conn) { _, _ = io.WriteString(c, m.Name) })
}

// The kernel replaces the address in the message, and the caller must reach the terminal
// that has the call. Debian has no H.323 terminal.
func TestH323CallsPassAFarm(t *testing.T) {
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	for _, b := range s.Backends {
		terminal(b)
	}
	for _, vip := range bothNATs(t, s, 1720, "h323") {
		got := map[string]int{}
		for range 4 {
			call, err := s.Client.Dial(t.Context(), "tcp", vip+":1720")
			if err != nil {
				t.Fatal(err)
			}
			defer call.Close()
			_ = call.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = call.Write([]byte{3, 0, 0, 9, 8, 2, 0, 1, 5}) // Setup
			answer := make([]byte, len(connected(netip.MustParseAddrPort("0.0.0.0:0"))))
			if _, err := io.ReadFull(call, answer); err != nil {
				t.Fatalf("%s: %v", vip, err)
			}
			at := answer[controlAt:]
			control := netip.AddrPortFrom(netip.AddrFrom4([4]byte(at)), uint16(at[4])<<8|uint16(at[5]))
			if control.Addr().String() != vip {
				t.Fatalf("%s: the caller is sent to %s", vip, control)
			}
			c, err := s.Client.Dial(t.Context(), "tcp", control.String())
			if err != nil {
				t.Fatalf("%s: %v", vip, err)
			}
			who, _ := io.ReadAll(c)
			got[string(who)]++
			_ = c.Close()
		}
		if got["b1"] != 2 || got["b2"] != 2 {
			t.Errorf("%s: %v", vip, got)
		}
	}
}
