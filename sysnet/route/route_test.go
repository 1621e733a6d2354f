package route_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/route"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// all is every rule and route of the namespace.
func all(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, family := range []string{"-4", "-6"} {
		b.WriteString(sysnettest.IP(t, family+" rule show") + sysnettest.IP(t, family+" route show table all"))
	}
	return b.String()
}

func TestMarkedPacketsAreLocalWhileWanted(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.IP(t, "rule add fwmark 7 lookup 100 pref 5190") // somebody else's, at our place
	sysnettest.IP(t, "route add local 192.0.2.0/24 dev lo table 100")
	before := all(t)
	foreign := func(mark string) string { return sysnettest.IP(t, "route get 198.51.100.7 mark "+mark) }
	for range 2 { // asking again changes nothing
		if err := route.Keep(true, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := foreign("0x5d000001"); !strings.HasPrefix(got, "local 198.51.100.7 ") {
		t.Errorf("with the mark: %s", got)
	}
	if got := sysnettest.IP(t, "route get 2001:db8::7 mark 0x5d000001"); !strings.HasPrefix(got, "local 2001:db8::7 ") {
		t.Errorf("with the mark: %s", got)
	}
	if l, err := route.List(); err != nil || len(l) != 4 {
		t.Errorf("listed %v, %v", l, err)
	}
	if err := route.Keep(true, false); err != nil {
		t.Fatal(err)
	}
	if l, err := route.List(); err != nil || len(l) != 2 {
		t.Errorf("listed %v, %v", l, err)
	}
	for range 2 {
		if err := route.Keep(false, false); err != nil {
			t.Fatal(err)
		}
	}
	if after := all(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
