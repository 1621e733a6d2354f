package forward_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
)

// farmBoth returns a TCP and UDP farm with those backends, numbered from 1.
func (a *appliance) farmBoth(backends ...string) farm.Farm {
	a.t.Helper()
	return a.farmAt(farm.L4TCPUDP, a.ListenBoth(a.t, "127.0.0.1"), backends)
}

// nameServer serves DNS over TCP and UDP on one address, or over the given transports; every
// response is its name.
func nameServer(t *testing.T, name, addr string, transports ...string) string {
	t.Helper()
	if len(transports) == 0 {
		transports = []string{"tcp", "udp"}
	}
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		m.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}, Txt: []string{name}}}
		_ = w.WriteMsg(m)
	})
	for range 20 {
		var servers []*dns.Server
		at := addr
		for _, transport := range transports {
			s := &dns.Server{Handler: answer}
			if transport == "tcp" {
				ln, err := net.Listen("tcp", at)
				if err != nil {
					break
				}
				s.Listener, at = ln, ln.Addr().String()
			} else {
				c, err := net.ListenPacket("udp", at)
				if err != nil {
					break
				}
				s.PacketConn, at = c, c.LocalAddr().String()
			}
			servers = append(servers, s)
		}
		stop := func() {
			for _, s := range servers {
				if s.Listener != nil {
					_ = s.Listener.Close()
				} else {
					_ = s.PacketConn.Close()
				}
			}
		}
		if len(servers) < len(transports) {
			stop() // the other transport may use the port of the first
			continue
		}
		for _, s := range servers {
			started := make(chan struct{})
			s.NotifyStartedFunc = func() { close(started) }
			go func() { _ = s.ActivateAndServe() }()
			<-started
			t.Cleanup(func() { _ = s.Shutdown() })
		}
		return at
	}
	t.Fatal("no port is free for both")
	return ""
}

// query sends a DNS query over "tcp" or "udp" and returns the name of the responding server.
func query(f farm.Farm, transport string) (string, error) {
	c := dns.Client{Net: transport}
	r, _, err := c.Exchange(new(dns.Msg).SetQuestion("who.example.", dns.TypeTXT), address(f))
	if err != nil {
		return "", err
	}
	return r.Answer[0].(*dns.TXT).Txt[0], nil
}

func (a *appliance) queries(f farm.Farm, transport string) string {
	a.t.Helper()
	who, err := query(f, transport)
	if err != nil {
		a.t.Fatal(transport, ": ", err)
	}
	return who
}

func TestOneFarmServesTCPAndUDP(t *testing.T) {
	a := newAppliance(t, 2)
	one := uint16(1)
	f := a.farmBoth(nameServer(t, "one", "127.0.0.1:0"), nameServer(t, "two", "127.0.0.1:0"))
	f.L4.Responses = &one
	a.publish(f)
	if got := a.engine.Listeners(); len(got) != 2 || got[0] != "tcp/"+address(f) || got[1] != "udp/"+address(f) {
		t.Fatalf("it listens on %v", got)
	}
	for _, transport := range []string{"udp", "tcp"} {
		came := map[string]int{}
		for range 4 {
			came[a.queries(f, transport)]++
		}
		if came["one"] != 2 || came["two"] != 2 {
			t.Errorf("%s: in turn: %v", transport, came)
		}
	}
	eventually(t, "all have ended", func() bool { return a.stats().Established == 0 })
	if s := a.stats(); s.Connections != 8 || s.PacketsIn != 4 || s.PacketsOut != 4 {
		t.Errorf("counted: %+v", s)
	}
}

func TestAClientOfTCPAndUDPHasOneBackend(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farmBoth(nameServer(t, "one", "127.0.0.1:0"), nameServer(t, "two", "127.0.0.1:0"))
	f.L4.Persist = farm.L4PersistSrc
	a.publish(f)
	first := a.queries(f, "udp")
	for i := range 6 {
		if got := a.queries(f, []string{"tcp", "udp"}[i%2]); got != first {
			t.Errorf("%d: %s after %s", i, got, first)
		}
	}
}

func TestConnectionsAndFlowsOfOneFarmAreListedCountedAndFlushedTogether(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmBoth(nameServer(t, "one", "127.0.0.1:0"))
	f.L4.MaxConnections = 2
	a.publish(f)
	c := a.dial(f)
	a.queries(f, "udp")
	eventually(t, "both are listed", func() bool { n, _ := a.engine.Connections(nil, 10); return n == 2 })
	_, list := a.engine.Connections(nil, 10)
	idle := map[string]int64{}
	for _, l := range list {
		idle[l.Protocol] = int64(l.Idle.Seconds())
	}
	if len(idle) != 2 || idle["udp"] < 20 || idle["udp"] > 30 {
		t.Errorf("listed: %+v", list)
	}
	if _, err := query(f, "tcp"); err == nil {
		t.Error("a third client was admitted")
	}
	if n := a.engine.FlushConnections(nil); n != 2 {
		t.Errorf("%d were flushed", n)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client of a connection that was flushed: %v", err)
	}
}

// A server that serves only one transport is down for clients of the other only.
func TestTransportFailuresAreIndependent(t *testing.T) {
	for _, own := range []bool{true, false} {
		for transport, other := range map[string]string{"tcp": "udp", "udp": "tcp"} {
			t.Run(fmt.Sprintf("%s own port %v", transport, own), func(t *testing.T) {
				a := newAppliance(t, 1)
				f := a.farmBoth("127.0.0.77:1", "127.0.0.78:1")
				f.L4.ResurrectTime = 600
				for i, served := range [][]string{{transport}, {"tcp", "udp"}} {
					b := &f.L4.Backends[i]
					b.Port = 0
					to := netip.AddrPortFrom(b.Addr, f.L4.Ports[0].First)
					if own {
						to = netip.AddrPortFrom(b.Addr, 0)
					}
					at := netip.MustParseAddrPort(nameServer(t, string('1'+rune(i)), to.String(), served...))
					if own {
						b.Port = at.Port()
					}
				}
				a.publish(f)
				a.publish(f) // a new table, because only later tables are compiled from a previous one
				for _, when := range []string{"first", "after a change"} {
					for range 4 {
						if got := a.queries(f, other); got != "2" {
							t.Fatalf("%s: %s was answered by %s, want %s", when, other, got, "2")
						}
					}
					came := map[string]int{}
					for range 4 {
						came[a.queries(f, transport)]++
					}
					if came["1"] != 2 || came["2"] != 2 {
						t.Errorf("%s: of %s, which both serve: %v", when, transport, came)
					}
					a.publish(f)
				}
				if got := a.health.Slot(1).Passive(); got == health.Down {
					t.Error("it is down as a whole")
				}
				if !a.Log.Has("protocol=" + other) {
					t.Errorf("log: %s", a.Log.String())
				}
				if other == "udp" { // only time tells that it may be back
					return
				}
				if n := a.backend(1).ConnectFailures; n != 1 {
					t.Errorf("it was tried %d times by %s", n, other)
				}
				if _, x := a.explained(explain.Question{Protocol: other}); x.Balance.Backends[0].Status != "down" || x.Balance.Protocol != other || *x.Result.Backend != 1 {
					t.Errorf("%s explained: %+v", other, x.Balance)
				}
				if _, x := a.explained(explain.Question{Protocol: transport}); x.Balance.Backends[0].Status == "down" {
					t.Errorf("%s explained: %+v", transport, x.Balance)
				}
			})
		}
	}
}

// Clients of every virtual port reach a backend with its own port there, so a finding by
// clients of one applies to the others.
func TestTransportFailureAppliesToEveryVirtualPort(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmBoth(nameServer(t, "one", "127.0.0.77:0", "udp"), nameServer(t, "two", "127.0.0.78:0"))
	f.L4.ResurrectTime = 600
	second := a.ListenBoth(a.t, "127.0.0.1").Port()
	f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: second, Last: second})
	a.publish(f)
	for range 2 {
		for i := range f.L4.Ports {
			by := f.Clone()
			by.L4.Ports = f.L4.Ports[i : i+1]
			for range 4 {
				if got := a.queries(by, "tcp"); got != "two" {
					t.Errorf("port %d: answered by %q, want %q", i, got, "two")
				}
			}
		}
	}
	if n := a.backend(1).ConnectFailures; n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

func TestExplanationCoversOneTransport(t *testing.T) {
	a := newAppliance(t, 1)
	both, tcp := a.farmBoth("127.0.0.1:9"), a.farm("127.0.0.1:9")
	tcp.ID, tcp.Name, tcp.L4.ID, tcp.L4.Backends[0].ID = 2, "other", 2, 2
	a.publish(both, tcp)
	for asked, want := range map[string]string{"": "tcp", "tcp": "tcp", "udp": "udp"} {
		if _, x := a.explained(explain.Question{Protocol: asked}); x.Balance.Protocol != want {
			t.Errorf("%q: got %s, want %s", asked, x.Balance.Protocol, want)
		}
	}
	for farm, asked := range map[uint32]string{1: "sctp", 2: "udp"} {
		if _, err := a.engine.Explain(&explain.Question{Farm: farm, Protocol: asked}); err == nil || !strings.Contains(err.Error(), "takes no "+asked) {
			t.Errorf("%s of farm %d: %v", asked, farm, err)
		}
	}
}

// A running UDP farm gets and loses TCP. Flows and connections of the remaining transport
// continue.
func TestTransportChangesKeepTheOther(t *testing.T) {
	a := newAppliance(t, 1)
	s := namedServer(t, "one")
	f := a.farmBoth(s.at())
	f.L4.Protocol = farm.L4UDP
	a.publish(f)
	c := a.dialUDP(f)
	ask(t, c, "hello")
	from := func() string {
		_, list := a.engine.Connections(nil, 10)
		if len(list) != 1 {
			t.Fatalf("%d flows", len(list))
		}
		return list[0].State
	}
	for _, protocol := range []farm.L4Protocol{farm.L4TCPUDP, farm.L4UDP} {
		f = f.Clone()
		f.L4.Protocol = protocol
		a.publish(f)
		if got := from(); got != "replied" {
			t.Errorf("with %s the flow is %s, want %s", protocol, got, "replied")
		}
		ask(t, c, "still there?")
	}
	if got := a.stats().Connections; got != 1 {
		t.Errorf("%d flows began", got)
	}
	if got := a.engine.Listeners(); len(got) != 1 || got[0] != "udp/"+address(f) {
		t.Errorf("it listens on %v", got)
	}
}

// An outage of one transport on all backends ends with the first client after it, although
// the other transport was up throughout.
func TestTheFirstClientAfterAnOutageOfOneTransportIsServed(t *testing.T) {
	a := newAppliance(t, 1)
	at := nameServer(t, "one", porttest.Both(t).String(), "udp")
	f := a.farmBoth(at)
	a.publish(f)
	if got := a.queries(f, "udp"); got != "one" {
		t.Fatalf("answered by %q, want %q", got, "one")
	}
	if who, err := query(f, "tcp"); err == nil {
		t.Fatalf("no backend serves it, but %s answered", who)
	}
	if got := a.health.Slot(1).Passive(); got != health.Up {
		t.Errorf("the backend is %v, want %v", got, health.Up)
	}
	nameServer(t, "one", at, "tcp")
	time.Sleep(15 * time.Millisecond) // the minimum between two attempts, not until the next probe
	if got := a.queries(f, "tcp"); got != "one" {
		t.Errorf("answered by %q, want %q", got, "one")
	}
}
