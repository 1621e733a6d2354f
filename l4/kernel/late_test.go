package kernel_test

import (
	"net/netip"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
)

// The kernel keeps closed connections in a count for a while. A backend has room if one of
// its counts has noticed that they are closed.
func TestBackendHasRoomIfAnyCountHas(t *testing.T) {
	for _, persist := range []farm.L4Persistence{farm.L4PersistNone, farm.L4PersistSrcPt} {
		t.Run("persistence "+string(persist), func(t *testing.T) {
			c := newCrowd(t, func(l *farm.L4) { l.Persist = persist }, 2, 2)
			for i := range 4 {
				c.come(i)
			}
			c.lag("over", "0x5c00000a")
			for i := range 6 {
				c.leave("b1")
				noted := i < 4 // both backends are, and each is the first choice twice
				if !noted {
					c.look()
				}
				if got := c.come(4 + i); got != "b1" {
					t.Fatalf("client %d came to %s, which was full", i, got)
				}
			}
		})
	}
}

// lag adds a connection that goes elsewhere to a count of a backend.
func (c *crowd) lag(count, mark string) {
	c.t.Helper()
	c.Appliance.Server("appliance", 99)
	c.Appliance.Feed(`table inet sluice {
		chain lagging { ct mark @`+count+`
			ct mark set 0; }
		chain lag { type nat hook prerouting priority -101;
			tcp dport 99 ct mark set `+mark+` jump lagging; }
	}`, "nft", "-f", "-")
	a, err := c.Client.Ask("tcp", netip.AddrPort{}, c.VIP4+":99")
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(a.Close)
}
