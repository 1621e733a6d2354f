package apply_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func kernelFarm(name, vip string, protocol farm.L4Protocol, ports ...uint16) farm.Farm {
	f := relay(name, ports...)
	f.VIP, f.L4.Protocol, f.L4.DataPath, f.L4.Backends = netip.MustParseAddr(vip), protocol, farm.DataPathKernel, nil
	return f
}

func TestKernelFarmsRefuseForeignListeners(t *testing.T) {
	tcp := func(addr string) apply.Listener { return apply.Listener{Addr: netip.MustParseAddrPort(addr)} }
	udp := func(addr string) apply.Listener {
		return apply.Listener{UDP: true, Addr: netip.MustParseAddrPort(addr)}
	}
	for name, c := range map[string]struct {
		there   apply.Listener
		farm    farm.Farm
		refused string // part of the reason
		warned  string
	}{
		"its port":          {tcp("127.0.0.1:85"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 80, 85), "what another program listens on, tcp 127.0.0.1:85, got 127.0.0.1 protocol tcp port 80,85", ""},
		"all ports":         {udp("127.0.0.1:85"), kernelFarm("k", "127.0.0.1", farm.L4All), "udp 127.0.0.1:85", ""},
		"both transports":   {udp("127.0.0.1:5060"), kernelFarm("k", "127.0.0.1", farm.L4SIP, 5060), "udp 127.0.0.1:5060", ""},
		"every address":     {tcp("0.0.0.0:85"), kernelFarm("k", "0.0.0.0", farm.L4TCP, 85), "port 85 of every address", ""},
		"IPv6":              {tcp("[2001:db8::1]:85"), kernelFarm("k", "2001:db8::1", farm.L4TCP, 85), "[2001:db8::1]:85", ""},
		"another port":      {tcp("127.0.0.1:86"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 85), "", ""},
		"another transport": {udp("127.0.0.1:85"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 85), "", ""},
		"SCTP":              {tcp("127.0.0.1:85"), kernelFarm("k", "127.0.0.1", farm.L4SCTP, 85), "", ""},
		"another address":   {tcp("127.0.0.2:85"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 85), "", ""},
		"one of all":        {tcp("0.0.0.0:22"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 22), "", "vport: another program listens on tcp port 22 of every address (ssh); on 127.0.0.1 it cannot be reached while the farm runs"},
		"one of all, IPv6":  {tcp("[::]:22"), kernelFarm("k", "127.0.0.1", farm.L4TCP, 22), "", "on 127.0.0.1"},
		"one of all of it":  {tcp("127.0.0.1:22"), kernelFarm("k", "0.0.0.0", farm.L4TCP, 22), "", "tcp 127.0.0.1:22 (ssh); on 0.0.0.0"},
		"IPv4 of all":       {tcp("0.0.0.0:22"), kernelFarm("k", "2001:db8::1", farm.L4TCP, 22), "", ""},
		"no server perhaps": {udp("0.0.0.0:40000"), kernelFarm("k", "127.0.0.1", farm.L4UDP, 40000), "", ""},
		"stopped":           {tcp("127.0.0.1:85"), func() farm.Farm { f := kernelFarm("k", "127.0.0.1", farm.L4TCP, 85); f.Stopped = true; return f }(), "", ""},
		"in userspace": {tcp("127.0.0.1:85"), func() farm.Farm {
			f := kernelFarm("k", "127.0.0.1", farm.L4TCP, 85)
			f.L4.DataPath = farm.DataPathUserspace
			return f
		}(), "", ""}, // opening its socket detects this
	} {
		h := newHouse(t, apply.WithRules(validate.Rules{}), apply.WithListeners(func() ([]apply.Listener, error) { return []apply.Listener{c.there}, nil }))
		r, err := h.Change(context.Background(), root, "", 0, add(c.farm))
		var broken *field.Error
		warnings := ofPorts(r.Warnings)
		switch {
		case c.refused != "" && (!errors.As(err, &broken) || broken.Path != `farm "k"` || broken.Field != "vport" || !strings.Contains(broken.Message, c.refused)):
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.refused == "" && c.warned == "" && len(warnings) > 0, c.warned != "" && (len(warnings) != 1 || !strings.Contains(warnings[0].Message, c.warned)):
			t.Errorf("%s: warnings %v, want %q", name, warnings, c.warned)
		}
	}
}

// ofPorts returns the warnings about ports. The farms of these tests also cause warnings
// because they have no checks and use loopback addresses.
func ofPorts(warnings []field.Error) []field.Error {
	return slices.DeleteFunc(slices.Clone(warnings), func(w field.Error) bool { return w.Field != "vport" })
}

func TestOnlyForeignExistingListenersConflict(t *testing.T) {
	var there []apply.Listener
	api := netip.MustParseAddrPort("127.0.0.1:444")
	h := newHouse(t, apply.WithRules(validate.Rules{Own: []netip.AddrPort{api}}), apply.WithListeners(func() ([]apply.Listener, error) { return there, nil }))
	f := kernelFarm("k", "127.0.0.1", farm.L4TCP, 85)
	f.L4.DataPath = farm.DataPathUserspace
	h.must(add(f))
	there = []apply.Listener{{Addr: netip.MustParseAddrPort("127.0.0.1:85")}, {Addr: api}} // the engine's, and ours
	h.must(func(c *farm.Config) error { c.Farm("k").L4.DataPath = farm.DataPathKernel; return nil })
	there = append(there, apply.Listener{Addr: netip.MustParseAddrPort("127.0.0.1:86")})
	h.must(func(c *farm.Config) error { c.Farm("k").L4.TTL = 9; return nil }) // new listeners do not affect it
	move := func(c *farm.Config) error { c.Farm("k").L4.Ports[0] = farm.PortRange{First: 86, Last: 86}; return nil }
	if _, err := h.Change(context.Background(), root, "", 0, move); err == nil {
		t.Error("moved to the port of another program")
	}
	stop := func(stopped bool) func(*farm.Config) error {
		return func(c *farm.Config) error { c.Farm("k").Stopped = stopped; return nil }
	}
	h.must(stop(true))
	if _, err := h.Change(context.Background(), root, "", 0, stop(false)); err == nil { // port 85 no longer belongs to us
		t.Error("started on the port of another program")
	}
	there = []apply.Listener{{Addr: netip.MustParseAddrPort("0.0.0.0:22")}, {Addr: netip.MustParseAddrPort("0.0.0.0:23")}, {Addr: netip.MustParseAddrPort("127.0.0.2:24")}}
	if _, err := h.Change(context.Background(), root, "", 0, add(kernelFarm("all", "127.0.0.2", farm.L4All))); err == nil || !strings.Contains(err.Error(), "127.0.0.2:24") {
		t.Errorf("a conflict with other listeners was accepted: %v", err)
	}
	r := h.must(add(kernelFarm("some", "127.0.0.1", farm.L4TCP, 22, 23)))
	want := "vport: other programs listen on tcp port 22 of every address (ssh), tcp port 23 of every address; on 127.0.0.1 they cannot be reached while the farm runs"
	if all := ofPorts(r.Warnings); len(all) != 1 || all[0].Message != want || !slices.Equal(r.Takeovers, all) {
		t.Errorf("warnings %v, takeovers %v", r.Warnings, r.Takeovers)
	}
	if r := h.must(func(c *farm.Config) error { c.Farm("some").L4.TTL = 9; return nil }); len(r.Takeovers) > 0 {
		t.Errorf("a running farm takes over %v again", r.Takeovers)
	}
	blind := newHouse(t, apply.WithListeners(func() ([]apply.Listener, error) { return nil, errors.New("no /proc") }))
	blind.must(add(kernelFarm("k", "127.0.0.1", farm.L4TCP, 85)))
}
