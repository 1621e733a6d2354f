//go:build !race

package route_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/route"
)

func TestMatchAllocatesNothing(t *testing.T) {
	table := compile(t, append(hundred("www.%03d.example.com"),
		route.Rule{Host: `[a-z]+\.b\.com`, URL: `/[a-z]+/x`}, route.Rule{Host: "z", URL: `\.png$`})...)
	for _, c := range [][2]string{
		{"www.099.example.com:80", "/service099/"}, {"q.b.com", "/q/x"}, {"z", "/a.png"}, {"\xff", "/"}, {"z", "/\xff"},
	} {
		host, target := []byte(c[0]), []byte(c[1])
		if n := testing.AllocsPerRun(100, func() { table.Match(host, target, nil) }); n != 0 {
			t.Errorf("%q %q: %v allocations", host, target, n)
		}
	}
	table = compile(t, append(route.Services(2000), route.Services(200)...)...)
	one := route.Services(200)
	for i := range one {
		one[i].Host = ""
	}
	for _, table := range []*route.Table{table, compile(t, one...)} {
		host, target := []byte("shop199.example.org:80"), []byte("/app199/v2/9?a=b")
		if n := testing.AllocsPerRun(100, func() { table.Match(host, target, nil) }); n != 0 {
			t.Errorf("among candidates: %v allocations", n)
		}
	}
}
