package e2e_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// answersNames serves DNS on port 53 of a machine, by UDP and TCP. Every name has that
// address; UDP answers for names beginning with "big" are truncated.
func answersNames(t *testing.T, m *housetest.Machine, address string) {
	t.Helper()
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		r := new(dns.Msg).SetReply(q)
		_, tcp := w.RemoteAddr().(*net.TCPAddr)
		if r.Truncated = !tcp && strings.HasPrefix(q.Question[0].Name, "big"); !r.Truncated {
			r.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.ParseIP(address)}}
		}
		_ = w.WriteMsg(r)
	})
	for _, s := range []*dns.Server{{Listener: m.Listen("tcp", "[::]:53"), Handler: answer}, {PacketConn: m.ListenPacket("udp", "[::]:53"), Handler: answer}} {
		started := make(chan struct{})
		s.NotifyStartedFunc = func() { close(started) }
		go func() { _ = s.ActivateAndServe() }()
		<-started
		t.Cleanup(func() { _ = s.Shutdown() })
	}
}

func TestDNSQueriesByUDPAndTCPPassOneFarm(t *testing.T) {
	t.Parallel()
	needs(t, "dig", "nft")
	s := housetest.Plan{Backends: 2, Sources: 4}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	var v4, v6 []string
	for i, b := range s.Backends {
		answersNames(t, b, fmt.Sprintf("192.0.2.%d", i+1))
		v4, v6 = append(v4, fmt.Sprintf("{ip: %q}", b.V4)), append(v6, fmt.Sprintf("{ip: %q}", b.V6))
	}
	const farms = "farms:\n" +
		"- {name: dns, profile: l4xnat, vip: %q, vport: 53, protocol: tcp_udp, algorithm: roundrobin, persistence: srcip, backends: [%s]}\n" +
		"- {name: dns6, profile: l4xnat, vip: %q, vport: 53, protocol: \"tcp,udp\", algorithm: roundrobin, persistence: srcip, backends: [%s]}\n"
	a, _ := installed(t, s, "--config", file(t, fmt.Sprintf(farms, vip4, strings.Join(v4, ", "), vip6, strings.Join(v6, ", "))))
	dig := func(from int, vip string, more ...string) (string, error) {
		source := fmt.Sprintf("10.10.1.%d", 100+from)
		if strings.Contains(vip, ":") {
			source = fmt.Sprintf("fd00:1::%d", 100+from)
		}
		out, err := s.Client.Try("", "dig", append([]string{"-b", source, "+short", "+tries=1", "+time=5", "@" + vip}, more...)...)
		return strings.TrimSpace(out), err
	}
	for _, path := range []string{"userspace", "kernel", "userspace"} {
		for farm, vip := range map[string]string{"dns": vip4, "dns6": vip6} {
			a.must("farm", "set", farm, "datapath="+path)
			used := map[string]int{}
			for i := range 4 {
				var first string
				for _, more := range [][]string{{"www.example.org"}, {"+tcp", "www.example.org"}, {"big.example.org"}, {"www.example.org"}} {
					got, err := dig(i, vip, more...)
					if first == "" {
						first = got
					}
					if err != nil || got == "" || got != first {
						t.Errorf("%s in %s: client %d asks %v: %q after %q, %v", farm, path, i, more, got, first, err)
					}
				}
				used[first]++
			}
			if used["192.0.2.1"] != 2 || used["192.0.2.2"] != 2 {
				t.Errorf("%s in %s: in turn: %v", farm, path, used)
			}
			if out := a.must("session", "list", farm); strings.Count(out, "::10")+strings.Count(out, "10.10.1.10") != 4 {
				t.Errorf("%s in %s: sessions of four clients:\n%s", farm, path, out)
			}
			bothAreListedAndFlushed(t, s, a, farm, vip)
		}
	}

	for protocol, want := range map[string]string{"": `"protocol": "tcp"`, "tcp": `"protocol": "tcp"`, "udp": `"protocol": "udp"`} {
		if out := a.must("explain", "dns", "--from", "10.10.1.100", "--protocol", protocol, "--json"); !strings.Contains(out, want) {
			t.Errorf("explained by %q:\n%s", protocol, out)
		}
	}
	if out, code := a.run("explain", "dns", "--protocol", "sctp"); code == 0 || !strings.Contains(out, "must be tcp or udp") {
		t.Errorf("explained by sctp: %d, %s", code, out)
	}
	for _, protocol := range []string{"tcp", "udp"} {
		if out, code := a.run("farm", "create", "other", "--profile", "l4xnat", "vip="+vip4, "vport=53", "protocol="+protocol); code == 0 || !strings.Contains(out, "collides with farm") {
			t.Errorf("another farm of %s on its port: %d, %s", protocol, code, out)
		}
	}
	a.must("farm", "stop", "dns")
	for _, more := range [][]string{{"www.example.org"}, {"+tcp", "www.example.org"}} {
		if got, err := dig(0, vip4, append(more, "+time=1")...); err == nil {
			t.Errorf("%v of a farm that is stopped: %s", more, got)
		}
	}
}

// bothAreListedAndFlushed opens a connection and a flow, checks that the farm lists them,
// and flushes them.
func bothAreListedAndFlushed(t *testing.T, s *housetest.Site, a *appliance, farm, vip string) {
	t.Helper()
	to := netip.AddrPortFrom(netip.MustParseAddr(vip), 53).String()
	tcp, err := s.Client.Dial(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := s.Client.Dial(t.Context(), "udp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for _, c := range []net.Conn{tcp, udp} {
		if _, _, err := new(dns.Client).ExchangeWithConn(new(dns.Msg).SetQuestion("www.example.org.", dns.TypeA), &dns.Conn{Conn: c}); err != nil {
			t.Fatal(err)
		}
	}
	out := a.must("conn", "list", farm)
	if !strings.Contains(out, tcp.LocalAddr().String()) || !strings.Contains(out, udp.LocalAddr().String()) {
		t.Errorf("%s: a connection from %s and a flow from %s are not listed:\n%s", farm, tcp.LocalAddr(), udp.LocalAddr(), out)
	}
	a.must("conn", "flush", farm)
	if out := a.must("conn", "list", farm); strings.Contains(out, tcp.LocalAddr().String()) || strings.Contains(out, udp.LocalAddr().String()) {
		t.Errorf("%s: still there after a flush:\n%s", farm, out)
	}
}
