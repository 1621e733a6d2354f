package api_test

import (
	"fmt"
	"testing"
)

// A JSON number has the same meaning in any notation, in all bodies.
func TestWholeNumbersMayBeWrittenWithAPoint(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.dns(1)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/farms/shop", `{"contimeout":5.0,"vport":81.0,"ignore_100_continue":1.0}`},
		{"PUT", "/farms/dns", `{"vport":54.0}`},
		{"PUT", "/farms/shop/services/web", `{"ttl":60e0,"redirect":"https://a.test","redirect_code":301.0,"retry_on":["connect",503.0]}`},
		{"PUT", "/farms/shop/services/web/backends/0", `{"weight":0.3e1}`},
		{"POST", "/transactions", `{"writes":[{"method":"PUT","path":"/farms/shop","body":{"resurrectime":30.0}}]}`},
		{"PUT", "/system/notifications/alerts/backends", `{"avoidflappingtime":7.0}`},
		{"POST", "/history/tags", `{"name":"first","revision":1.0}`},
	} {
		a.must(map[bool]int{true: 201, false: 200}[c.path == "/history/tags"], c.method, c.path, c.body)
	}
	f := a.config().Farm("shop")
	s := f.HTTP.Services[0]
	if h := f.HTTP; h.ConnectTimeout != 5 || f.VPort != 81 || h.ResurrectTime != 30 || s.TTL != 60 || s.RedirectCode != 301 || s.Backends[0].Weight != 3 || len(s.RetryOn) != 2 {
		t.Errorf("%+v %+v", f, s)
	}
	if got := a.config().Farm("dns").PortsText(); got != "54" {
		t.Errorf("ports %s", got)
	}
	a.do("PUT", "/farms/shop", `{"contimeout":5.5}`).refused(t, 400, "contimeout must be a whole number, got 5.5: a number from 1 to 86400")
	a.do("PUT", "/farms/shop", `{"contimeout":1e400}`).refused(t, 400, "contimeout must be a number from 1 to 86400 (seconds), got 1e400")
	a.do("PUT", "/farms/dns", `{"vport":54.5}`).refused(t, 400, "vport")
}

// Interfaces are filtered by status.
func TestInterfacesAreChosenByTheirStatus(t *testing.T) {
	a := newAppliance(t)
	for status, want := range map[string]string{"up": "[eth0]", "down": "[bond0]"} {
		r := a.must(200, "GET", "/stats/system/network/interfaces?status="+status, "")
		var names []any
		for _, kind := range []string{"nic", "bond"} {
			list, _ := r.at("params." + kind).([]any)
			for _, one := range list {
				names = append(names, one.(map[string]any)["interface"])
			}
		}
		if fmt.Sprint(names) != want {
			t.Errorf("%s: %v", status, names)
		}
	}
	a.do("GET", "/stats/system/network/interfaces?status=sideways", "").refused(t, 400, "allowed are up and down")
}
