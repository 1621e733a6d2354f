package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// held opens one connection to each backend of a farm.
func (m *modes) held(f l4Farm) map[string]*housetest.Answer {
	m.t.Helper()
	out := map[string]*housetest.Answer{}
	for range 50 {
		a, err := m.Client.Ask(f.network, netip.AddrPort{}, f.to)
		if err != nil {
			m.t.Fatal(err)
		}
		m.t.Cleanup(a.Close)
		if out[a.Server] == nil {
			out[a.Server] = a
		}
		if len(out) == 2 {
			return out
		}
	}
	m.t.Fatalf("%s: only %v answer", f.name, out)
	return nil
}

// alive reports whether the connection still works.
func alive(a *housetest.Answer) bool {
	_ = a.Conn().SetDeadline(time.Now().Add(time.Second))
	return a.Again("still here") == nil
}

func TestDrainKeepsAndCutEndsExactlyTheConnectionsOfABackend(t *testing.T) {
	m := newModes(t)
	for _, f := range m.farms {
		if f.network != "tcp" || strings.Contains(f.name, "sessions") {
			continue
		}
		open := m.held(f)
		others := map[string]map[string]*housetest.Answer{}
		for _, other := range m.farms {
			if other.network == "tcp" && other.name != f.name && !strings.Contains(other.name, "sessions") {
				others[other.name] = m.held(other)
			}
		}
		first, second := "b1", "b2"
		if f.name == "dsr" {
			first, second = "d1", "d2"
		}
		m.a.must("backend", "maintenance", f.name, "0", "--mode", "drain")
		for name, a := range open {
			if !alive(a) {
				t.Errorf("%s: drain ended a connection to %s", f.name, name)
			}
		}
		for range 10 {
			if a, err := m.Client.Ask(f.network, netip.AddrPort{}, f.to); err != nil || a.Server != second {
				t.Errorf("%s: with %s drained: %v, %v", f.name, first, a, err)
			} else {
				a.Close()
			}
		}
		m.a.must("backend", "maintenance", f.name, "0", "--mode", "cut")
		within(t, 2*time.Second, f.name+": cut ends the connection", func() error {
			if alive(open[first]) {
				return fmt.Errorf("the connection continues")
			}
			return nil
		})
		if !alive(open[second]) {
			t.Errorf("%s: cut ended a connection to %s too", f.name, second)
		}
		for name, list := range others {
			for server, a := range list {
				if !alive(a) {
					t.Errorf("cut of %s in %s ended a connection to %s in %s", first, f.name, server, name)
				}
			}
		}
		m.a.must("backend", "maintenance", f.name, "0", "--off")
		within(t, 2*time.Second, f.name+": both take part again", func() error {
			a, err := m.Client.Ask(f.network, netip.AddrPort{}, f.to)
			if err != nil {
				return err
			}
			defer a.Close()
			if a.Server != first {
				return fmt.Errorf("answered by %s", a.Server)
			}
			return nil
		})
	}
}

func TestEditsOfOneFarmDoNotAffectAnother(t *testing.T) {
	m := newModes(t)
	stop := m.under(m.farms...)
	vip4, _ := "10.10.1.200", ""
	for i := range 5 {
		name := fmt.Sprintf("edit%d", i)
		m.a.must("farm", "create", name, "profile=l4xnat", "vip="+vip4, fmt.Sprintf("vport=%d", 9000+i))
		for _, nat := range []string{"nat", "dnat", "dsr", "stateless_dnat"} {
			m.a.must("farm", "set", name, "nattype="+nat)
			m.a.must("backend", "create", name, "10.10.2.11")
			m.a.must("backend", "delete", name, "10.10.2.11")
		}
		m.a.must("farm", "set", name, "nattype=nat")
		m.a.must("farm", "set", name, "datapath=kernel")
		m.a.must("farm", "set", name, "datapath=userspace")
		m.a.must("farm", "delete", name)
	}
	flawless(t, stop())
}

func TestSessionsOutliveASwitchOfTheDataPath(t *testing.T) {
	m := newModes(t)
	m.a.must("farm", "create", "switched", "profile=l4xnat", "vip=10.10.1.200", "vport=8003")
	m.a.must("farm", "set", "switched", "datapath=kernel", "algorithm=roundrobin", "persistence=srcip", "ttl=600")
	for _, b := range m.Backends {
		m.a.must("backend", "create", "switched", b.V4)
	}
	clients := map[netip.Addr]string{}
	ask := func(from netip.Addr) string {
		a, err := m.Client.Ask("tcp", netip.AddrPortFrom(from, 0), "10.10.1.200:8003")
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		return a.Server
	}
	for i := range 4 {
		from := netip.AddrFrom4([4]byte{10, 10, 1, byte(100 + i)})
		clients[from] = ask(from)
	}
	for _, path := range []string{"userspace", "kernel", "userspace", "kernel"} {
		m.a.must("farm", "set", "switched", "datapath="+path)
		for from, was := range clients {
			if is := ask(from); is != was {
				t.Errorf("in %s: %v was at %s, now at %s", path, from, was, is)
			}
		}
	}
}
