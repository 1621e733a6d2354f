package neigh_test

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/sysnet/neigh"
)

func TestNextHopFormatsAsText(t *testing.T) {
	a, gateway, mac := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.9"), neigh.MAC{2, 0, 0, 0, 0, 1}
	for want, p := range map[string]neigh.NextHop{
		"192.0.2.1 is 02:00:00:00:00:01 on eth0":                   {Addr: a, MAC: mac, Interface: "eth0"},
		"192.0.2.1 is behind 192.0.2.9, 02:00:00:00:00:01 on eth0": {Addr: a, MAC: mac, Interface: "eth0", Gateway: gateway},
		"192.0.2.1: it is gone":                                    {Addr: a, Interface: "eth0", Gateway: gateway, Problem: "it is gone"},
	} {
		if got := p.String(); got != want || p.OnLink() == p.Gateway.IsValid() {
			t.Errorf("%s, want %s; on the link: %v", got, want, p.OnLink())
		}
	}
}

func TestWatchFailsWithoutDescriptors(t *testing.T) {
	restore := descriptortest.Limit(t, 0)
	w, err := neigh.Watch(slog.New(slog.DiscardHandler))
	restore()
	if w != nil || !errors.Is(err, unix.EMFILE) {
		t.Errorf("%v, %v", w, err)
	}
}
