package notify

import (
	"net/netip"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// The servers of these tests run on this machine.
func init() { outbound.Allow([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}) }
