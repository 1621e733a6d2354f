package iptables_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/iptables"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	chains "github.com/sluicelb/sluice/sysnet/iptables"
)

// newSite returns a site that carries farms by iptables. The variant found on most systems
// uses nf_tables, which makes no difference to the chains.
func newSite(t *testing.T, backends int) *l4test.Site {
	t.Helper()
	s := l4test.NewSite(t, backends)
	run, err := chains.Find("")
	if err != nil {
		t.Skip(err)
	}
	s.Use(iptables.New(run, l4test.Quiet))
	return s
}

func TestEachAddressRewriteReachesItsBackendsByEachAlgorithm(t *testing.T) {
	s := newSite(t, 3)
	before := s.Appliance.Run("iptables-save") + s.Appliance.Run("ip6tables-save")
	var farms []farm.Farm
	for i, algorithm := range farm.L4Algorithms() {
		for j, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget} {
			for k, protocol := range []farm.L4Protocol{farm.L4TCP, farm.L4UDP} {
				for m, six := range []bool{false, true} {
					n := i*8 + j*4 + k*2 + m
					f := s.Farm(uint32(n+1), protocol, nat, six, uint16(1000+n))
					f.L4.Algorithm = algorithm
					farms = append(farms, f)
				}
			}
		}
	}
	s.Apply(farms...)
	for _, f := range farms {
		what := fmt.Sprintf("%s %s %s %s", f.L4.Algorithm, f.L4.NAT, f.L4.Protocol, f.VIP)
		to := netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String()
		want, got := "10.10.1.", map[string]int{}
		switch {
		case f.VIP.Is6() && f.L4.NAT == farm.NATMasquerade:
			want = "fd00:2::1"
		case f.VIP.Is6():
			want = "fd00:1::"
		case f.L4.NAT == farm.NATMasquerade:
			want = "10.10.2.1"
		}
		for range 6 {
			seen := s.Ask(string(f.L4.Protocol), netip.Addr{}, to)
			got[seen.Server]++
			if !strings.HasPrefix(seen.From.Addr().String(), want) || seen.To.Port() != 8080 {
				t.Errorf("%s: the backend saw %s → %s", what, seen.From, seen.To)
			}
		}
		switch f.L4.Algorithm {
		case farm.L4RoundRobin:
			if got["b1"] != 2 || got["b2"] != 2 || got["b3"] != 2 {
				t.Errorf("%s: %v", what, got)
			}
		case farm.L4HashSrc, farm.L4HashDst, farm.L4HashDstPt, farm.L4Priority:
			if len(got) != 1 {
				t.Errorf("%s: %v", what, got)
			}
		}
	}
	s.Apply()
	if after := s.Appliance.Run("iptables-save") + s.Appliance.Run("ip6tables-save"); ours(after) != "" {
		t.Errorf("without farms there is still\n%s; before there was\n%s", ours(after), before)
	}
}

// ours returns the lines of our rules.
func ours(saved string) string {
	var out []string
	for line := range strings.Lines(saved) {
		if strings.Contains(line, "SLUICE") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestClientsAndForeignRulesAreKept(t *testing.T) {
	s := newSite(t, 2)
	s.Appliance.Run("iptables", "-t", "nat", "-N", "FOREIGN")
	s.Appliance.Run("iptables", "-t", "nat", "-A", "PREROUTING", "-p", "tcp", "--dport", "9", "-j", "FOREIGN")
	foreign := func() string {
		var out []string
		for line := range strings.Lines(s.Appliance.Run("iptables-save", "-t", "nat")) {
			if strings.Contains(line, "FOREIGN") {
				out = append(out, line)
			}
		}
		return strings.Join(out, "")
	}
	before := foreign()
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	empty := s.Farm(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	empty.L4.Backends = nil
	s.Apply(f, empty)
	to := s.VIP4 + ":80"
	for i := range 6 {
		from := netip.MustParseAddr(fmt.Sprintf("10.10.1.%d", 100+i))
		first := s.Ask("tcp", from, to).Server
		for range 3 {
			if again := s.Ask("tcp", from, to).Server; again != first {
				t.Errorf("%s went to %s, then to %s", from, first, again)
			}
		}
	}
	if _, err := s.Client.Ask("tcp", netip.AddrPort{}, s.VIP4+":81"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a farm without backends: %v", err)
	}
	if now := foreign(); now != before {
		t.Errorf("foreign rules were\n%s\nand are\n%s", before, now)
	}
	f.L4.MaxConnections = 7
	problems := s.Try(f)
	if !strings.Contains(problems[1], "maxconnections") {
		t.Errorf("a feature without support in iptables: %v", problems)
	}
	s.Apply()
	if now := foreign(); now != before {
		t.Errorf("foreign rules were\n%s\nand are\n%s", before, now)
	}
}

func TestConnectionsEndedByARestartAreNotPickedUp(t *testing.T) {
	s := newSite(t, 1)
	s.RestartsEnd([]farm.Farm{s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80), s.Farm(2, farm.L4TCP, farm.NATTarget, true, 81)})
}

func TestSessionsOutliveAStop(t *testing.T) {
	s := newSite(t, 3)
	f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	s.Apply(f)
	first := map[int]string{}
	for i := range 6 {
		first[i] = s.Ask("tcp", l4test.Source(i), s.VIP4+":80").Server
	}
	other := s.Farm(2, farm.L4TCP, farm.NATMasquerade, false, 81)
	for _, farms := range [][]farm.Farm{{l4test.Stopped(f)}, {l4test.Stopped(f), other}, {l4test.Stopped(f)}, {f}} {
		s.Apply(farms...)
	}
	for i, was := range first {
		if is := s.Ask("tcp", l4test.Source(i), s.VIP4+":80").Server; is != was {
			t.Errorf("client %d went from %s to %s", i, was, is)
		}
	}
	s.Apply(l4test.Stopped(f))
	s.Apply()
	if left := ours(s.Appliance.Run("iptables-save") + s.Appliance.Run("ip6tables-save")); left != "" {
		t.Errorf("a deleted farm left\n%s", left)
	}
}

func TestAClientOfTCPAndUDPHasOneBackend(t *testing.T) { newSite(t, 2).TCPAndUDPStayTogether() }

// A netd that replaces a killed one knows the rules in the kernel only.
func TestAKilledNetdForgetsNoEndedConnections(t *testing.T) {
	s := newSite(t, 1)
	for i, six := range []bool{false, true} {
		for j, stopped := range []bool{false, true} {
			f := s.Farm(uint32(1+2*i+j), farm.L4TCP, farm.NATMasquerade, six, uint16(80+j))
			s.Apply(f)
			a, err := s.Client.Ask("tcp", netip.AddrPort{}, l4test.Listener(f))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			s.Apply(l4test.Stopped(f))
			if !stopped {
				s.Apply(f)
			}
			s.Use(s.Filter)
			s.Apply(f)
			save := "iptables-save"
			if six {
				save = "ip6tables-save"
			}
			if rules := s.Appliance.Run(save); !strings.Contains(rules, "FIN,SYN,RST,ACK SYN -j RETURN") { // a reset may be lost on its way
				t.Errorf("%s, killed while the farm was stopped: %v: packets in mid-stream are not refused:\n%s", f.VIP, stopped, rules)
			}
			if err := a.Again("after a restart"); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s, killed while the farm was stopped: %v: the connection was ended, and then %v", f.VIP, stopped, err)
			}
			s.Apply()
		}
	}
}
