package rules_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// text returns the nft input for a ruleset.
func text(r *nft.Ruleset) string { return nft.Load(rules.Tables(), r, nil).Text() }

// second returns another farm than the example, at the same address unless edit changes it.
func second(edit func(f *farm.Farm)) farm.Farm {
	return l4test.Example(func(f *farm.Farm) {
		f.ID, f.Name = 8, "second"
		for i := range f.L4.Backends {
			f.L4.Backends[i].ID += 10
		}
		edit(f)
	})
}

func TestUncarriedFarmLeavesNoRules(t *testing.T) {
	first := l4test.Example(func(f *farm.Farm) {
		f.L4.Ports = []farm.PortRange{{First: 80, Last: 80}, {First: 8000, Last: 8010}}
	})
	ports := func(first, last uint16) []farm.PortRange { return []farm.PortRange{{First: first, Last: last}} }
	for want, edit := range map[string]func(f *farm.Farm){
		"its address is taken: farm 7":                      func(f *farm.Farm) {},
		"its ports 8010:8020 overlap those of farm \"web\"": func(f *farm.Farm) { f.L4.Ports = ports(8010, 8020) },
		"its ports 7990:8000 overlap those of farm \"web\"": func(f *farm.Farm) { f.L4.Ports = ports(7990, 8000) },
		"all ports of all addresses": func(f *farm.Farm) {
			f.VIP, f.L4.Protocol, f.L4.Ports = netip.IPv6Unspecified(), farm.L4All, nil
		},
		"session \"here\" of backend 11": func(f *farm.Farm) {
			f.L4.Ports, f.L4.Persist, f.L4.Backends[0].Sessions = ports(90, 90), farm.L4PersistSrc, []string{"here"}
		},
		"session \"there\" of backend 12": func(f *farm.Farm) {
			f.L4.NAT, f.L4.Ports = farm.NATDirect, ports(90, 90)
			f.L4.Persist, f.L4.Backends[1].Sessions = farm.L4PersistSrc, []string{"there"}
		},
		"is not known here":                  func(f *farm.Farm) { f.L4.Algorithm = "best" },
		"the kernel carries addresses":       func(f *farm.Farm) { f.L4.Source = netip.MustParseAddr("fe80::1%eth0") },
		"needs an address of its own as VIP": func(f *farm.Farm) { f.L4.NAT, f.VIP = farm.NATDirect, netip.IPv4Unspecified() },
	} {
		alone, _ := rules.Compile(&rules.Input{Wire: onWire(), Farms: []farm.Farm{first}})
		both, problems := rules.Compile(&rules.Input{Wire: onWire(), Farms: []farm.Farm{first, second(edit)}})
		if len(problems) != 1 || !strings.Contains(problems[8], want) {
			t.Errorf("%v, want %q", problems, want)
		}
		if text(alone) != text(both) {
			t.Errorf("%s: it leaves\n%s", want, text(both))
		}
	}
}

// Two farms may share an address with different transports or ports. A farm for all ports
// gets what the others leave.
func TestFarmsShareAnAddress(t *testing.T) {
	for name, edit := range map[string]func(f *farm.Farm){
		"another transport": func(f *farm.Farm) { f.L4.Protocol = farm.L4UDP },
		"another port":      func(f *farm.Farm) { f.L4.Ports[0] = farm.PortRange{First: 81, Last: 81} },
		"a range around it": func(f *farm.Farm) { f.L4.Ports[0] = farm.PortRange{First: 1, Last: 100} },
		"all the rest":      func(f *farm.Farm) { f.L4.Protocol, f.L4.Ports = farm.L4All, nil },
		"every address":     func(f *farm.Farm) { f.VIP = netip.IPv4Unspecified() },
		"packet modes":      func(f *farm.Farm) { f.L4.NAT, f.L4.Ports[0] = farm.NATStateless, farm.PortRange{First: 81, Last: 81} },
	} {
		if _, problems := rules.Compile(&rules.Input{Wire: onWire(), Farms: []farm.Farm{l4test.Example(nil), second(edit)}}); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
	both := []farm.Farm{direct(nil), second(func(f *farm.Farm) { f.L4.NAT = farm.NATDirect })}
	if _, problems := rules.Compile(&rules.Input{Wire: onWire(), Farms: both}); len(problems) != 1 || !strings.Contains(problems[8], "its address is taken: farm 7") {
		t.Errorf("two of packet modes at one address: %v", problems)
	}
}

func TestPacketModesNeedNextHops(t *testing.T) {
	nowhere := onWire().(hops)
	nowhere.devices = nil
	for want, wire := range map[string]rules.Wire{"needs to know neighbours": nil, "no interface has the address 192.0.2.1": nowhere} {
		if _, problems := rules.Compile(&rules.Input{Wire: wire, Farms: []farm.Farm{direct(nil)}}); !strings.Contains(problems[7], want) {
			t.Errorf("%v, want %q", problems, want)
		}
	}
}

// Rewriting rules stay for connections in progress after the last farm was stopped. Farms
// carried elsewhere need no rules.
func TestRulesExistOnlyForKernelFarms(t *testing.T) {
	stopped, engines := l4test.Example(func(f *farm.Farm) { f.Stopped = true }), l4test.Example(func(f *farm.Farm) { f.L4.DataPath = farm.DataPathUserspace })
	for _, c := range []struct {
		in     rules.Input
		chains int
	}{
		{rules.Input{Farms: []farm.Farm{stopped, engines}}, 0},
		{rules.Input{Farms: []farm.Farm{stopped}, Hold: true}, 4},
	} {
		if r, problems := rules.Compile(&c.in); len(r.Chains) != c.chains || len(problems) > 0 {
			t.Errorf("hold %t: %d chains, want %d; %v", c.in.Hold, len(r.Chains), c.chains, problems)
		}
	}
}

func TestLogPrefixFitsTheKernel(t *testing.T) {
	f := l4test.Example(func(f *farm.Farm) { f.L4.Logs, f.L4.LogPrefix = true, strings.Repeat("x", 200) })
	r, _ := rules.Compile(&rules.Input{Farms: []farm.Farm{f}})
	rule := r.Chains[nft.ID{Table: rules.Inet(), Name: "farm7"}].Rules[0]
	if want := `log prefix "` + strings.Repeat("x", 127) + `" level info`; !strings.Contains(rule, want) {
		t.Errorf("%s", rule)
	}
	f.L4.LogPrefix = ""
	if got := rules.LogPrefix(&f); got != "l4:web " {
		t.Errorf("the default is %q, want %q", got, "l4:web ")
	}
}

func TestHelpersThatRewriteNameTheirModule(t *testing.T) {
	for p, want := range map[farm.L4Protocol][]string{
		farm.L4FTP: {"nf_nat_ftp"}, farm.L4SIP: {"nf_nat_sip"}, farm.L4H323: {"nf_nat_h323"}, farm.L4SANE: nil, farm.L4TCP: nil,
	} {
		if got := rules.Rewriters(p); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}
