package host

import (
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// Rules of Sluice change often, and each change makes it read all rules of foreign firewalls.
func TestUnchangedFirewallsAreExaminedRarely(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := New(nil, slog.New(slog.DiscardHandler))
	defer h.Close()
	l := farm.DefaultL4()
	l.Protocol, l.NAT, l.DataPath = farm.L4TCP, farm.NATMasquerade, farm.DataPathKernel
	l.Ports = []farm.PortRange{{First: 80, Last: 80}}
	h.Prepare(t.Context(), []farm.Farm{{ID: 1, Profile: farm.ProfileL4, VIP: netip.MustParseAddr("192.0.2.1"), L4: l}})
	h.settle() // our own changes
	examined := 0
	var spent time.Duration
	begin := time.Now()
	for time.Since(begin) < 500*time.Millisecond {
		before, at := h.rest, time.Now()
		if h.settle(); h.rest != before {
			examined, spent = examined+1, spent+time.Since(at)
		}
	}
	if examined == 0 || spent > 250*time.Millisecond {
		t.Errorf("firewalls were examined %d times for %v of half a second", examined, spent)
	}
}
