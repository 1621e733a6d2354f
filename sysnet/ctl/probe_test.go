package ctl_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

func TestProbePredictsOpen(t *testing.T) {
	c := ctltest.Client(t, serve(t))
	free := porttest.TCP(t)
	if err := c.Probe(t.Context(), ctl.KeyTCP(free)); err != nil {
		t.Errorf("a free port: %v", err)
	}
	if keys, err := c.List(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("a probe opened %v, %v", keys, err)
	}
	for _, share := range []bool{false, true} {
		l, err := sharing(share).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		taken := netip.MustParseAddrPort(l.Addr().String())
		if err := c.Probe(t.Context(), ctl.KeyTCP(taken)); !errors.Is(err, ctl.ErrInUse) {
			t.Errorf("shared %v: a port of another program: %v", share, err)
		}
	}
	if err := c.Probe(t.Context(), ctl.KeyTCP(netip.MustParseAddrPort("192.0.2.1:8080"))); !errors.Is(err, ctl.ErrNotLocal) {
		t.Errorf("an address of another machine: %v", err)
	}
	openSockets(t, c, free, 2)
	if err := c.Probe(t.Context(), ctl.KeyTCP(free)); err != nil {
		t.Errorf("a port that is held: %v", err)
	}
}
