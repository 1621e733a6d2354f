package kernel

import (
	"slices"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/rules"
)

// Protocols with a helper, such as SIP and TFTP, have UDP flows too.
func TestDownBackendsAreLeftByUDPFlows(t *testing.T) {
	for _, p := range farm.L4Protocols() {
		l := &farm.L4{Protocol: p, Backends: []farm.Backend{{ID: 1, Host: "192.0.2.1"}, {ID: 2, Host: "192.0.2.2"}}}
		farms := []farm.Farm{{ID: 7, L4: l}}
		udp := p == farm.L4All || slices.Contains(rules.Transports(p), farm.L4UDP)
		if got := stranded(farms, &rules.Input{Usable: func(id uint32) bool { return id != 1 }}); got[1] != udp || got[2] {
			t.Errorf("%s: %v are left", p, got)
		}
		if got := stranded(farms, &rules.Input{Usable: func(uint32) bool { return false }}); len(got) > 0 {
			t.Errorf("%s, all down: %v are left", p, got)
		}
		farms[0].Stopped = true
		if got := stranded(farms, &rules.Input{Usable: func(id uint32) bool { return id != 1 }}); len(got) > 0 {
			t.Errorf("%s, stopped: %v are left", p, got)
		}
	}
}
