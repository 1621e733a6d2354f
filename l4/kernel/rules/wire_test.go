package rules_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// hops is a Wire with fixed next hops; VIPs are on the given devices.
type hops struct {
	of      map[netip.Addr]neigh.NextHop
	devices []string
}

func (p hops) NextHop(a netip.Addr) (neigh.NextHop, bool) { hop, ok := p.of[a]; return hop, ok }
func (p hops) Devices(netip.Addr) []string                { return p.devices }

// onWire returns a Wire with the example backends on two interfaces and the VIPs on one.
func onWire() rules.Wire {
	out := hops{map[netip.Addr]neigh.NextHop{}, []string{"front"}}
	for i, a := range []string{"10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"} {
		addr := netip.MustParseAddr(a)
		out.of[addr] = neigh.NextHop{Addr: addr, MAC: neigh.MAC{2, 0, 0, 0, 0, byte(i + 1)}, Interface: []string{"front", "back.7"}[i%2], Own: neigh.MAC{2, 0, 0, 0, 1, byte(i % 2)}}
	}
	return out
}

// direct returns an example farm with dsr.
func direct(edit func(f *farm.Farm)) farm.Farm {
	return l4test.Example(func(f *farm.Farm) {
		f.L4.NAT = farm.NATDirect
		if edit != nil {
			edit(f)
		}
	})
}

// Rules leave out interface names that nft cannot parse, and keep other unusual names.
func TestUnparsableInterfaceNamesAreOmitted(t *testing.T) {
	wire := onWire().(hops)
	wire.devices = []string{"eth0", `back\slash`, "semi;{"}
	for addr, name := range map[string]string{"10.0.0.1": `back\slash`, "10.0.0.2": `quo"te`} {
		hop := wire.of[netip.MustParseAddr(addr)]
		hop.Interface = name
		wire.of[hop.Addr] = hop
	}
	in := &rules.Input{Wire: wire, Farms: []farm.Farm{direct(nil)}}
	ruleset, problems := rules.Compile(in)
	text := nft.Load(nil, ruleset, nil).Text()
	if len(problems) != 0 || strings.Contains(text, "quo") {
		t.Errorf("problems %v, rules\n%s", problems, text)
	}
	for _, want := range []string{`hook ingress device "back\slash" priority`, `hook ingress device "semi;{" priority`, `fwd to "back\slash"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if w := rules.Warnings(in)[7]; len(w) != 1 || !strings.Contains(w[0], "backend 10.0.0.2 is not used: it is behind the interface") {
		t.Errorf("warnings %q", w)
	}
	for name, want := range map[string]bool{"eth0": true, "a b": true, `a"b`: false, "a\x1f": false, "a\x7f": false} {
		if rules.Nameable(name) != want {
			t.Errorf("%q can be named: got %t, want %t", name, !want, want)
		}
	}
}

func TestUnreachableBackendsCauseWarnings(t *testing.T) {
	good := neigh.NextHop{MAC: neigh.MAC{2}, Interface: "eth0"}
	noMAC, far, sick := good, good, good
	noMAC.MAC, sick.Problem = neigh.MAC{}, "no route"
	far.Gateway = netip.MustParseAddr("10.0.0.254")
	for want, hop := range map[string]*neigh.NextHop{
		"": &good, "no route": &sick, "behind the gateway 10.0.0.254": &far, "MAC address is being asked": &noMAC, "its MAC address": nil,
	} {
		wire := onWire().(hops)
		delete(wire.of, netip.MustParseAddr("10.0.0.2"))
		if hop != nil {
			hop.Addr = netip.MustParseAddr("10.0.0.2")
			wire.of[hop.Addr] = *hop
		}
		in := &rules.Input{Wire: wire, Farms: []farm.Farm{direct(nil), direct(func(f *farm.Farm) { f.ID, f.Stopped = 8, true }), l4test.Example(func(f *farm.Farm) { f.ID = 9 })}}
		warnings := rules.Warnings(in)
		if want == "" {
			if len(warnings) > 0 {
				t.Errorf("of backends that are reached: %v", warnings)
			}
			continue
		}
		if w := warnings[7]; len(warnings) != 1 || len(w) != 1 || !strings.Contains(w[0], "10.0.0.2") || !strings.Contains(w[0], want) {
			t.Errorf("%v, want %q", warnings, want)
		}
		if ruleset, problems := rules.Compile(&rules.Input{Wire: wire, Farms: in.Farms[:1]}); len(problems) > 0 || strings.Contains(nft.Load(nil, ruleset, nil).Text(), "0x5c000002") {
			t.Errorf("%s: %v, or it gets something all the same", want, problems)
		}
	}
}
