package l4farm_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/snapshot"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// crossing returns an l4xnat farm on an IPv4 address with an IPv4 and an IPv6 backend.
func crossing(edit func(l *farm.L4)) *farm.Config {
	l := farm.DefaultL4()
	l.ID, l.Ports = 1, []farm.PortRange{{First: 80, Last: 80}}
	for i, host := range []string{"10.0.0.7", "2001:db8::7"} {
		l.Backends = append(l.Backends, farm.Backend{ID: uint32(i + 1), Slot: uint32(i + 1), Host: host,
			Addr: netip.MustParseAddr(host), Port: 81})
	}
	if edit != nil {
		edit(l)
	}
	return &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "relay", Profile: farm.ProfileL4, VIP: netip.MustParseAddr("10.0.0.5"), L4: l}}}
}

func TestBackendsOfHTTPFarmsAreOfEitherIPVersion(t *testing.T) {
	for vip, host := range map[string]string{"10.0.0.5": "2001:db8::7", "2001:db8::5": "10.0.0.7"} {
		h := farm.DefaultHTTP()
		h.Services = []farm.Service{{ID: 1, Name: "web", Backends: []farm.Backend{{ID: 1, Host: host, Addr: netip.MustParseAddr(host), Port: 80}}}}
		cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr(vip), VPort: 80, HTTP: h}}}
		if err := validate.Config(cfg); err != nil {
			t.Errorf("%s behind %s: %v", host, vip, err)
		}
		if err := snapshot.Check(cfg); err != nil {
			t.Errorf("the engine rejects %s behind %s: %v", host, vip, err)
		}
	}
}

func TestFarmsWithBackendsOfTheOtherIPVersionAreCarriedInUserspace(t *testing.T) {
	for name, edit := range map[string]func(*farm.L4){
		"tcp": nil, "udp": func(l *farm.L4) { l.Protocol = farm.L4UDP }, "asked for": func(l *farm.L4) { l.DataPath = farm.DataPathUserspace },
		"sources": func(l *farm.L4) {
			l.Source, l.Backends[1].Source = netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("2001:db8::5")
		},
	} {
		cfg := crossing(edit)
		if err := validate.Config(cfg); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := snapshot.Check(cfg); err != nil {
			t.Errorf("%s: the engine rejects it: %v", name, err)
		}
		if path, _ := cfg.Farms[0].Carrier(); path != farm.DataPathUserspace {
			t.Errorf("%s: carried by %s", name, path)
		}
	}
	cfg := crossing(nil)
	f := &cfg.Farms[0]
	if reason := f.NotKernel(); !strings.Contains(reason, "IP version") {
		t.Errorf("the kernel cannot carry it because %q", reason)
	}
	f.L4.Backends = f.L4.Backends[:1]
	if reason := f.NotKernel(); reason != "" {
		t.Errorf("without it the kernel cannot carry the farm because %q", reason)
	}
}

func TestPacketsKeepTheirIPVersion(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*farm.L4)
		want string
	}{
		"kernel": {func(l *farm.L4) { l.DataPath = farm.DataPathKernel },
			`farm "relay" backend 1: ip must be of the same IP version as the vip (10.0.0.5), got 2001:db8::7: datapath is kernel, where packets keep their version; set datapath auto`},
		"sctp": {func(l *farm.L4) { l.Protocol = farm.L4SCTP },
			`got 2001:db8::7: protocol sctp is carried by the kernel, where packets keep their version; set protocol tcp, udp or tcp_udp`},
		"dsr": {func(l *farm.L4) { l.NAT, l.Algorithm = farm.NATDirect, farm.L4Weight },
			`nattype dsr works on packets, which the kernel carries, where packets keep their version; set nattype nat`},
		"dnat": {func(l *farm.L4) { l.NAT = farm.NATTarget },
			`with nattype dnat backends see the client's address, which has the version of the vip; set nattype nat`},
		"one source for both": {func(l *farm.L4) { l.Source = netip.MustParseAddr("10.0.0.5") },
			`farm "relay" backend 1: source of the farm (10.0.0.5) must be of the same IP version as the backend (2001:db8::7); give the backend a source of its own, or set the farm's null`},
	} {
		err := validate.Config(crossing(c.edit))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
	bad := crossing(func(l *farm.L4) { l.DataPath = farm.DataPathKernel })
	if snapshot.Check(bad) == nil {
		t.Error("the engine accepts what the kernel cannot forward")
	}
}
