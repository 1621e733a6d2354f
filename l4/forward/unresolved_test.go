package forward_test

import (
	"io"
	"net"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
)

func TestBackendsWithoutAnAddressGetNoConnection(t *testing.T) {
	echo := serve(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	a := newAppliance(t, 1)
	f := a.farm(echo.Addr().String())
	f.L4.Backends[0].Of = 7
	f.L4.Backends = append([]farm.Backend{{ID: 7, Host: "pool.example", Resolve: farm.ResolveAll}, {ID: 8, Host: "late.example"}}, f.L4.Backends...)
	a.publish((&farm.Config{Farms: []farm.Farm{f}}).Usable().Farms...)
	for range 4 {
		c := a.dial(f)
		got := make([]byte, 4)
		_, _ = io.WriteString(c, "ping")
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "ping" {
			t.Fatalf("%q %v", got, err)
		}
	}
	e, err := a.engine.Explain(&explain.Question{Farm: 1})
	if err != nil || e.Balance == nil || len(e.Balance.Backends) != 3 || !e.Balance.Backends[2].Chosen {
		t.Errorf("%v %+v", err, e)
	}
}
