package load_test

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/load"
)

// echoUDP echoes the datagrams for which keep returns true.
func echoUDP(t *testing.T, keep func(n int) bool) netip.AddrPort {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		buf := make([]byte, 2048)
		for i := 0; ; i++ {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if keep(i) {
				_, _ = c.WriteToUDPAddrPort(buf[:n], from)
			}
		}
	}()
	return c.LocalAddr().(*net.UDPAddr).AddrPort()
}

func runDatagrams(t *testing.T, target netip.AddrPort) load.Result {
	t.Helper()
	d, err := load.NewDatagrams(load.Spec{Target: target, Connections: 4, Window: 4, Body: 64, Duration: 100 * time.Millisecond, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.WarmUp(); err != nil {
		t.Fatal(err)
	}
	result, err := d.Run()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestEchoedDatagramsAreCounted(t *testing.T) {
	r := runDatagrams(t, echoUDP(t, func(int) bool { return true }))
	if r.Requests < 100 || r.Errors != 0 || r.BytesIn != 64*r.Requests {
		t.Errorf("%+v", r)
	}
}

func TestLostDatagramsAreErrors(t *testing.T) {
	r := runDatagrams(t, echoUDP(t, func(n int) bool { return n != 50 }))
	if r.Errors != 1 {
		t.Errorf("one was lost, %d are counted", r.Errors)
	}
}
