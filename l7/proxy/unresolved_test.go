package proxy_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestBackendsWithoutAnAddressGetNothing(t *testing.T) {
	back := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
	a := l7test.New(t, 1)
	s := l7test.Service("web", back.Addr)
	pool := farm.Backend{ID: 7, Host: "pool.example", Resolve: farm.ResolveAll}
	late := farm.Backend{ID: 8, Host: "late.example", Port: 80}
	s.Backends = append([]farm.Backend{pool, late}, s.Backends...)
	s.Backends[2].Of, s.Backends[2].Host = 7, "pool.example"
	cfg := farm.Config{Farms: []farm.Farm{{HTTP: &farm.HTTP{Services: []farm.Service{s}}}}}
	at := a.Serve(nil, cfg.Usable().Farms[0].HTTP.Services[0])
	for range 4 {
		c := l7test.Dial(t, at)
		c.Send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if got := c.Rest(); !strings.HasPrefix(got, "HTTP/1.1 200") {
			t.Fatal(got)
		}
	}
	e, err := a.Engine.Explain(&explain.Question{Farm: 1, URL: "/"})
	if err != nil || e.Balance == nil || len(e.Balance.Backends) != 3 || e.Balance.Level != 2 || !e.Balance.Backends[2].Chosen {
		t.Errorf("%v %+v", err, e)
	}
	if netip.MustParseAddrPort(back.Addr).String() != e.Result.Address {
		t.Errorf("it leads to %s", e.Result.Address)
	}
}
