package route_test

import (
	"errors"
	"maps"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/sysnet/route"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// all returns every rule and route of the namespace.
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
	sysnettest.IP(t, "rule add fwmark 7 lookup 100 pref 5190") // a foreign rule at our priority
	sysnettest.IP(t, "route add local 192.0.2.0/24 dev lo table 100")
	before := all(t)
	foreign := func(mark string) string { return sysnettest.IP(t, "route get 198.51.100.7 mark "+mark) }
	for range 2 { // the second call changes nothing
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
	for _, family := range []string{"-4", "-6"} {
		if got := sysnettest.IP(t, family+" rule show"); !strings.Contains(got, "5190:\tfrom all fwmark 0x5d000001 lookup 23901\n") { // no other mark
			t.Errorf("rules: %s", got)
		}
	}
	const rule, table = "packets with mark 0x5d000001 are looked up in table 23901", "all addresses are local"
	want := map[route.Object]bool{{Name: "rule 5190 IPv4", Detail: rule}: true, {Name: "rule 5190 IPv6", Detail: rule}: true,
		{Name: "table 23901 IPv4", Detail: table}: true, {Name: "table 23901 IPv6", Detail: table}: true}
	l, err := route.List()
	listed := map[route.Object]bool{}
	for _, o := range l {
		listed[o] = true
	}
	if err != nil || len(l) != 4 || !maps.Equal(listed, want) {
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

// powerless runs f without the capability to change the network.
func powerless(t *testing.T, f func() error) (err error) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // stays locked: the thread ends with its reduced capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err = unix.Capset(&header, &none[0]); err == nil {
			err = f()
		}
	}()
	<-done
	return err
}

// Every failure to set or remove a rule or route is reported.
func TestMissingPermissionIsReported(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	keep := func(v4, v6 bool) func() error { return func() error { return route.Keep(v4, v6) } }
	denied := func(when string, v4, v6 bool) {
		t.Helper()
		if err := powerless(t, keep(v4, v6)); !errors.Is(err, unix.EPERM) || !strings.HasPrefix(err.Error(), "routing answers to clients' addresses: ") {
			t.Errorf("%s: %v", when, err)
		}
	}
	if err := powerless(t, keep(false, false)); err != nil {
		t.Errorf("removing a missing rule: %v", err)
	}
	denied("setting both", true, true)
	if err := route.Keep(true, false); err != nil {
		t.Fatal(err)
	}
	denied("removing rules", false, false)
	denied("setting the other", true, true)
	sysnettest.IP(t, "route flush table 23901")
	denied("setting a route that was removed", true, false)
	if err := route.Keep(true, false); err != nil {
		t.Fatal(err)
	}
	sysnettest.IP(t, "rule del pref 5190")
	denied("removing routes", false, false)
	if l, err := route.List(); err != nil || len(l) != 1 {
		t.Errorf("listed %v, %v", l, err)
	}
	if err := route.Keep(false, false); err != nil {
		t.Fatal(err)
	}
	if l, err := route.List(); err != nil || len(l) != 0 {
		t.Errorf("listed %v, %v", l, err)
	}
}

// A failed query must not look like an empty result.
func TestQueriesFailWithoutDescriptors(t *testing.T) {
	restore := descriptortest.Limit(t, 0)
	l, listing := route.List()
	setting, removing := route.Keep(true, false), route.Keep(false, false)
	restore()
	for what, err := range map[string]error{"list": listing, "set": setting, "remove": removing} {
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(l) != 0 {
		t.Errorf("listed %v", l)
	}
}
