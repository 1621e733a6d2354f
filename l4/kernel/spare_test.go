package kernel_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l4/kernel/l4test"
)

// With algorithm prio the backend before the others gets all clients until it is full, then
// the next one does, as in userspace.
func TestWithPrioTheNextBackendIsUsedWhenTheFirstIsFull(t *testing.T) {
	for _, persist := range []farm.L4Persistence{farm.L4PersistNone, farm.L4PersistSrcPt} {
		t.Run("persistence "+string(persist), func(t *testing.T) {
			c := newCrowd(t, func(l *farm.L4) {
				l.Algorithm, l.Persist = farm.L4Priority, persist
				l.Backends[0].Priority, l.Backends[1].Priority, l.Backends[2].Priority = 2, 1, 2
				l.Backends[3].Maintenance = farm.MaintenanceDrain // opens priority 2
			}, 2, 2, 2, 0)
			for i, want := range []string{"b2", "b2", "b1", "b1", "b3", "b3"} {
				if got := c.come(i); got != want {
					t.Fatalf("client %d came to %s, want %s", i, got, want)
				}
			}
			if _, err := c.Open(6, c.to); !l4test.Refused(err) {
				t.Errorf("one too many: %v", err)
			}
			c.leave("b1")
			c.leave("b2")
			c.look()
			for i, want := range []string{"b2", "b1"} {
				if got := c.come(7 + i); got != want {
					t.Errorf("a client came to %s, want %s", got, want)
				}
			}
		})
	}
}
