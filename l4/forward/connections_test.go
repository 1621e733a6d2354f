package forward_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/l4/forward"
)

func TestConnectionsAreListedAndEnded(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("first")).at(), serve(t, name("second")).at())
	a.publish(f)
	open := map[string][]net.Conn{}
	for range 10 {
		c := a.dial(f)
		_, _ = io.WriteString(c, "12345\n")
		n := line(t, c)
		line(t, c)
		open[n] = append(open[n], c)
	}
	total, list := a.engine.Connections(nil, 100)
	if total != 10 || len(list) != 10 {
		t.Fatalf("%d connections, %d listed", total, len(list))
	}
	for _, c := range list {
		to := f.L4.Backends[c.Backend-1]
		said := []uint64{uint64(len("first\n12345\n")), uint64(len("second\n12345\n"))}[c.Backend-1]
		if c.Protocol != "tcp" || c.State != "established" || c.To.String() != address(f) || c.Server != to.AddrPort() || c.In != 6 || c.Out != said ||
			!slices.ContainsFunc(open[[]string{"first", "second"}[c.Backend-1]], func(o net.Conn) bool { return o.LocalAddr().String() == c.Client.String() }) {
			t.Errorf("listed %+v", c)
		}
	}
	if total, list := a.engine.Connections([]uint32{2}, 3); total != len(open["second"]) || len(list) != 3 || list[0].Backend != 2 {
		t.Errorf("of the second: %d, listed %+v", total, list)
	}
	if total, list := a.engine.Connections([]uint32{}, 3); total != 0 || len(list) != 0 {
		t.Errorf("of none: %d, %+v", total, list)
	}
	if n := a.engine.FlushConnections([]uint32{2}); n != len(open["second"]) {
		t.Errorf("ended %d of %d", n, len(open["second"]))
	}
	for _, c := range open["second"] {
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client saw %v", err)
		}
	}
	for _, c := range open["first"] {
		_, _ = io.WriteString(c, "on\n")
		if got := line(t, c); got != "on" {
			t.Errorf("got %q, want %q", got, "on")
		}
	}
	if n := a.engine.FlushConnections(nil); n != len(open["first"]) {
		t.Errorf("ended %d of %d", n, len(open["first"]))
	}
	if s := a.stats(); s.Established != 0 || s.Pending != 0 {
		t.Errorf("counted %+v", s)
	}
}

func TestFlowsAreListedAndEnded(t *testing.T) {
	a := newAppliance(t, 2)
	silentBackend := answering(t, func(string) []string { return nil })
	f := a.farmUDP(namedServer(t, "one").at(), silentBackend.at())
	a.publish(f)
	clients := map[string]*net.UDPConn{}
	for range 8 {
		c := a.dialUDP(f)
		_, _ = io.WriteString(c, "hello")
		clients[c.LocalAddr().String()] = c
	}
	var list []forward.Connection
	eventually(t, "all flows are there, and those that are answered", func() bool {
		var total int
		total, list = a.engine.Connections(nil, 100)
		replied := 0
		for _, c := range list {
			if c.State == "replied" {
				replied++
			}
		}
		return total == 8 && replied == 4
	})
	for _, c := range list {
		if c.Protocol != "udp" || (c.State == "replied") != (c.Backend == 1) || clients[c.Client.String()] == nil || c.To.String() != address(f) ||
			c.Server != f.L4.Backends[c.Backend-1].AddrPort() || c.Idle <= 0 || c.Idle.Seconds() > 30 ||
			c.In != uint64(len("hello")) || (c.Out == uint64(len("one"))) != (c.State == "replied") {
			t.Errorf("listed %+v", c)
		}
	}
	if total, list := a.engine.Connections([]uint32{1}, 3); total != 4 || len(list) != 3 || list[0].State != "replied" {
		t.Errorf("of the first: %d, listed %+v", total, list)
	}
	if n := a.engine.FlushConnections([]uint32{1}); n != 4 {
		t.Errorf("ended %d, want 4", n)
	}
	if total, list := a.engine.Connections(nil, 100); total != 4 || strings.Contains(list[0].State, "un") == false || a.flows() != 4 {
		t.Errorf("left: %d, %+v, %d counted", total, list, a.flows())
	}
}
