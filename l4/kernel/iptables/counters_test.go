package iptables_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/iptables"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/sysnet/ctl"
	chains "github.com/sluicelb/sluice/sysnet/iptables"
)

// eachFlavour runs the test with both variants of iptables: the legacy one, without
// nf_tables, and the other.
func eachFlavour(t *testing.T, test func(t *testing.T, s *l4test.Site, command string, filter *iptables.Filter)) {
	for _, flavour := range []string{chains.Legacy, ""} {
		t.Run("iptables"+flavour, func(t *testing.T) {
			s := l4test.NewSite(t, 2)
			run, err := chains.Find(flavour)
			if err != nil {
				t.Skip(err)
			}
			quiet := l4test.Quiet
			filter := iptables.New(run, quiet)
			s.Use(filter)
			test(t, s, "iptables"+flavour, filter)
		})
	}
}

func TestCountersSurviveRebuiltRules(t *testing.T) {
	eachFlavour(t, func(t *testing.T, s *l4test.Site, _ string, filter *iptables.Filter) {
		var farms []farm.Farm
		for i := range 20 { // more backends than in one chain
			f := s.Farm(uint32(i+1), farm.L4TCP, farm.NATTypes()[i%2], i%4 > 1, uint16(1000+i))
			f.L4.Algorithm = farm.L4RoundRobin
			farms = append(farms, f)
		}
		s.Apply(farms...)
		counted := func() (c map[uint32]ctl.KernelCount) {
			t.Helper()
			s.Appliance.Do(func() {
				traffic, err := s.Reconciler.Traffic(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				c = traffic.Backends
			})
			return c
		}
		for round := range 3 {
			for _, f := range farms {
				for range 2 {
					a, err := s.Client.Ask("tcp", netip.AddrPort{}, netip.AddrPortFrom(f.VIP, f.L4.Ports[0].First).String())
					if err != nil {
						t.Fatal(err)
					}
					if err := a.Again(strings.Repeat("x", 1000)); err != nil {
						t.Error(err)
					}
					a.Close()
				}
			}
			now := counted()
			for _, f := range farms {
				for _, b := range f.L4.Backends {
					c, n := now[b.ID], uint64(round+1)
					if c.Connections != n || c.PacketsIn < 4*n || c.PacketsOut < 3*n || c.BytesIn < 1000*n || c.BytesOut < 1000*n || c.BytesIn > 3000*n {
						t.Errorf("after %d connections backend %d has %+v", n, b.ID, c)
					}
				}
			}
			s.Apply(farms...) // rebuilds every rule
			if after := counted(); fmt.Sprint(after) == "" || after[10].Connections != now[10].Connections || after[10].BytesIn < now[10].BytesIn {
				t.Errorf("rebuilt rules lost the counters %+v: %+v", now[10], after[10])
			}
		}
	})
}

func TestFlushedRulesAreRestored(t *testing.T) {
	eachFlavour(t, func(t *testing.T, s *l4test.Site, command string, filter *iptables.Filter) {
		f := s.Farm(1, farm.L4TCP, farm.NATMasquerade, false, 80)
		f.L4.Mark = 7
		f.L4.Logs = true
		s.Apply(f)
		s.Appliance.Do(func() {
			text, err := filter.Rules(t.Context(), f.ID)
			for _, rule := range []string{"IPv4 nat -A SLUICE -d " + s.VIP4 + "/32 ", "IPv4 nat -A SLUICE-F1 ", "IPv4 nat -A SLUICE-B", " DNAT "} {
				if !strings.Contains(text, rule) {
					t.Errorf("%q is no rule of the farm: %v\n%s", rule, err, text)
				}
			}
			if strings.Contains(text, "SLUICE-REFUSE") {
				t.Errorf("a rule of all is one of the farm:\n%s", text)
			}
			if text, err := filter.Rules(t.Context(), 9); text != "" || err != nil {
				t.Errorf("a farm that is none: got %q, %v, want \"\"", text, err)
			}
			list, err := filter.Objects(t.Context())
			if err != nil || len(list) <= strings.Count(text, "\n")+1 || list[0].Kind != "iptables rule" || !strings.HasPrefix(list[0].Name, "IPv4 ") || !strings.Contains(list[0].Name, "SLUICE") {
				t.Errorf("objects: %+v, %v", list, err)
			}
		})
		intact := func() (yes bool) {
			s.Appliance.Do(func() { yes = filter.Intact(t.Context()) })
			return yes
		}
		for name, flush := range map[string]func(){
			"nothing":          func() {},
			"a rule of others": func() { s.Appliance.Run(command, "-I", "INPUT", "1", "-p", "tcp", "--dport", "9", "-j", "DROP") },
			"-F":               func() { s.Appliance.Run(command, "-F") },
			"-t nat -F":        func() { s.Appliance.Run(command, "-t", "nat", "-F") },
			"-t mangle -F":     func() { s.Appliance.Run(command, "-t", "mangle", "-F") },
			"one hook":         func() { s.Appliance.Run(command, "-t", "nat", "-D", "PREROUTING", "1") },
			"another tool's rules": func() {
				s.Appliance.Feed("*nat\n:PREROUTING ACCEPT [0:0]\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n", command+"-restore")
			},
		} {
			flush()
			if name == "nothing" || name == "a rule of others" {
				if !intact() {
					t.Errorf("%s: rules are reported as missing", name)
				}
				continue
			}
			if intact() {
				t.Errorf("%s: rules are reported as intact\n%s", name, s.Appliance.Run(command+"-save"))
			}
			s.Apply(f)
			if !intact() {
				t.Errorf("%s: rebuilt rules are reported as missing", name)
			}
			if seen := s.Ask("tcp", netip.Addr{}, s.VIP4+":80"); seen.To.Port() != 8080 {
				t.Errorf("%s: %+v", name, seen)
			}
		}
	})
}
