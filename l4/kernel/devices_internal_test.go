package kernel

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// Somebody may name an interface as nft cannot: its packets pass by, and the
// farms of all others have their rules.
func TestInterfacesWithStrangeNamesSpoilNoRules(t *testing.T) {
	vip, backend, behind := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.9"), netip.MustParseAddr("198.51.100.9")
	var all []addr.Local
	for _, name := range []string{"eth0", `back\slash`, `quo"te`, "semi;{", "k\x01"} {
		all = append(all, addr.Local{Addr: vip, Interface: name, Ethernet: true})
	}
	devices := ethernets(all, []netip.Addr{vip})
	if want := []string{"eth0", `back\slash`, "semi;{"}; !slices.Equal(devices, want) {
		t.Errorf("interfaces %q, want %q", devices, want)
	}
	wire := &seen{devices: map[netip.Addr][]string{vip: devices}, places: map[netip.Addr]neigh.Place{
		backend: {Addr: backend, MAC: neigh.MAC{2, 1}, Interface: `back\slash`},
		behind:  {Addr: behind, MAC: neigh.MAC{2, 2}, Interface: `quo"te`},
	}}
	l := farm.DefaultL4()
	l.NAT, l.Ports = farm.NATDirect, []farm.PortRange{{First: 80, Last: 80}}
	l.Backends = []farm.Backend{{ID: 1, Addr: backend, Host: "one"}, {ID: 2, Addr: behind, Host: "two"}}
	in := &rules.Input{Wire: wire, Farms: []farm.Farm{{ID: 1, Name: "f", Profile: farm.ProfileL4, VIP: vip, L4: l}}}
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
	if w := rules.Warnings(in)[1]; len(w) != 1 || !strings.Contains(w[0], "backend two is not used: it is behind the interface") {
		t.Errorf("warnings %q", w)
	}
}
