//go:build !race

package loop_test

import (
	"net/netip"
	"testing"
)

func TestADatagramCostsNoAllocation(t *testing.T) {
	l := start(t)
	echo := bind(t, "127.0.0.1:0")
	_, at := startRelay(t, l, "0.0.0.0:0", portOf(echo))
	client := dialUDP(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), at.Port()))
	buf, out := make([]byte, 100), make([]byte, 64)
	round := func() {
		for range 5 {
			_, _ = client.Write(out)
		}
		for range 5 {
			n, from, err := echo.ReadFromUDPAddrPort(buf)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = echo.WriteToUDPAddrPort(buf[:n], from)
		}
		for range 5 {
			if _, err := client.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(200, round); n > 0 {
		t.Errorf("%v allocations for five datagrams in each direction", n)
	}
}
