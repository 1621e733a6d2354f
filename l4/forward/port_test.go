package forward_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// twoPorts returns a farm with two virtual ports whose backends, 127.0.0.77 and 127.0.0.78,
// have no port.
func (a *appliance) twoPorts(udp bool) farm.Farm {
	a.t.Helper()
	f, listen := a.farm(), a.Listen
	if udp {
		f, listen = a.farmUDP(), a.ListenUDP
	}
	second := listen(a.t, "127.0.0.1").Port()
	f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: second, Last: second})
	f.L4.Algorithm = farm.L4RoundRobin
	for i, host := range []string{"127.0.0.77", "127.0.0.78"} {
		f.L4.Backends = append(f.L4.Backends, farm.Backend{ID: uint32(i + 1), Host: host, Addr: netip.MustParseAddr(host)})
	}
	return f
}

// on serves a port of a backend and sends its name.
func on(t *testing.T, host string, port uint16) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, host)
			_ = c.Close()
		}
	}()
	return ln
}

// firstData returns the first data that a client of a virtual port receives; empty if it is
// refused.
func firstData(t *testing.T, port uint16) string {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if errors.Is(err, syscall.ECONNRESET) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	b, err := io.ReadAll(c)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

func TestPortFailuresAreIndependent(t *testing.T) {
	for _, unserved := range []int{0, 1} {
		a := newAppliance(t, 1)
		f := a.twoPorts(false)
		served, bad := f.L4.Ports[1-unserved].First, f.L4.Ports[unserved].First
		on(t, "127.0.0.77", served)
		on(t, "127.0.0.78", served)
		a.publish(f)
		for range 3 {
			if got := firstData(t, bad); got != "" {
				t.Fatalf("a port without a server sent %q, want \"\"", got)
			}
		}
		came := map[string]int{}
		for range 4 {
			came[firstData(t, served)]++
		}
		if came["127.0.0.77"] != 2 || came["127.0.0.78"] != 2 {
			t.Errorf("port %d is refused, the other port has %v", unserved, came)
		}
		for id := uint32(1); id <= 2; id++ {
			if got := a.health.Slot(id).Passive(); got != health.Up {
				t.Errorf("backend %d is %v, want %v", id, got, health.Up)
			}
			if got := a.backend(id).ConnectFailures; got < 1 || got > 3 { // one per client, because none is usable there
				t.Errorf("backend %d was tried %d times on the port it refused", id, got)
			}
		}
	}
}

func TestUDPPortFailuresAreIndependent(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.twoPorts(true)
	served, bad := f.L4.Ports[0].First, f.L4.Ports[1].First
	for _, host := range []string{"127.0.0.77", "127.0.0.78"} {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), served)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			buf := make([]byte, 100)
			for {
				_, from, err := c.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				_, _ = c.WriteToUDPAddrPort([]byte(host), from)
			}
		}()
	}
	a.publish(f)
	for range 3 {
		c, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", bad))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte("anybody?"))
	}
	eventually(t, "all three are refused", func() bool { return a.stats().NoBackend == 3 })
	for range 4 {
		if got := ask(t, a.dialUDP(f), "hello"); !strings.HasPrefix(got, "127.0.0.7") {
			t.Errorf("got %q", got)
		}
	}
	for id := uint32(1); id <= 2; id++ {
		if !a.health.Slot(id).Usable() {
			t.Errorf("backend %d is down", id)
		}
	}
}

// A finding about a port survives changes, activates other priorities, is explained, and
// ends when the port is served again.
func TestRefusedPortFindingLasts(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.twoPorts(false)
	f.L4.ResurrectTime = 1
	f.L4.Algorithm = farm.L4Priority
	f.L4.Backends[1].Priority = 2
	first, second := f.L4.Ports[0].First, f.L4.Ports[1].First
	on(t, "127.0.0.77", first)
	on(t, "127.0.0.78", first)
	on(t, "127.0.0.78", second)
	a.publish(f)
	a.publish(f) // a table in use, not the first one
	for _, when := range []string{"first", "after a change"} {
		if got := firstData(t, second); got != "127.0.0.78" {
			t.Errorf("%s: the port the first refuses came to %q, want %q", when, got, "127.0.0.78")
		}
		if got := firstData(t, first); got != "127.0.0.77" {
			t.Errorf("%s: the port the first serves came to %q, want %q", when, got, "127.0.0.77")
		}
		a.publish(f)
	}
	if got := a.backend(1).ConnectFailures; got != 1 {
		t.Errorf("the first backend refused %d clients", got)
	}
	_, x := a.explained(explain.Question{To: fmt.Sprintf("127.0.0.1:%d", second)})
	if b := x.Balance.Backends[0]; b.Status != "down" || b.Might || x.Result.Address != fmt.Sprintf("127.0.0.78:%d", second) {
		t.Errorf("explained: %+v of %+v", x.Result, b)
	}
	if _, x = a.explained(explain.Question{To: fmt.Sprintf("127.0.0.1:%d", first)}); x.Balance.Backends[0].Status != "up" {
		t.Errorf("explained: %+v", x.Balance.Backends[0])
	}
	if !a.Log.Has(fmt.Sprintf("backend=127.0.0.77:%d", second)) {
		t.Errorf("log: %s", a.Log.String())
	}
	on(t, "127.0.0.77", second)
	eventually(t, "the port is used again", func() bool { return firstData(t, second) == "127.0.0.77" })
}

// A backend that refuses all of its ports is down for all clients.
func TestBackendRefusingAllPortsIsDown(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.twoPorts(false)
	f.L4.ResurrectTime = 1
	a.publish(f)
	for i, r := range f.L4.Ports {
		if got := a.health.Slot(1).Passive(); got != health.Undefined {
			t.Errorf("after %d of two ports it is %v, want %v", i, got, health.Undefined)
		}
		firstData(t, r.First)
	}
	if got := a.health.Slot(1).Passive(); got != health.Down {
		t.Errorf("without a port it is %v, want %v", got, health.Down)
	}
	on(t, "127.0.0.77", f.L4.Ports[1].First)
	eventually(t, "it is up", func() bool { return a.health.Slot(1).Passive() == health.Up })
	if got := firstData(t, f.L4.Ports[1].First); got != "127.0.0.77" {
		t.Errorf("the port that is served came to %q, want %q", got, "127.0.0.77")
	}
	f = f.Clone()
	f.L4.Ports = slices.Clone(f.L4.Ports[1:])
	a.publish(f) // a single port needs no distinction
	if got := firstData(t, f.L4.Ports[0].First); got != "127.0.0.77" {
		t.Errorf("as the only port it came to %q, want %q", got, "127.0.0.77")
	}
}
