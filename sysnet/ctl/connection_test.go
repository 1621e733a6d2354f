package ctl_test

import (
	"testing"

	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

func TestConnectionNumberGrowsWithEachNetd(t *testing.T) {
	path, l := ctltest.Listen(t)
	defer l.Close()
	c := ctltest.Client(t, path)
	for life := range 3 {
		number := c.Connection(t.Context())
		if number != uint64(life)+1 {
			t.Errorf("netd %d has connection %d", life, number)
		}
		netd, err := l.AcceptUnix()
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Connection(t.Context()); n != number {
			t.Errorf("connection %d became %d without a cause", number, n)
		}
		_ = netd.Close()
	}
}
