package rules

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

func TestEveryHelperProtocolHasItsHelpers(t *testing.T) {
	for _, p := range farm.L4Protocols() {
		list := helperTable[p]
		if p.Helper() != (len(list) > 0) {
			t.Errorf("%s has %d helpers", p, len(list))
		}
		var transports []farm.L4Protocol
		for _, h := range list {
			transports = append(transports, h.transport)
		}
		if p.Helper() && len(transports) != len(p.Transports()) {
			t.Errorf("%s has helpers for %v, carries %v", p, transports, p.Transports())
		}
	}
}
