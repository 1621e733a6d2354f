package cli_test

import (
	"strings"
	"testing"
)

// Backends are accepted by address and names in every command.
func TestBackendsAreNamedByNumberOrAddress(t *testing.T) {
	a := start(t)
	a.shop()
	a.must("farm", "create", "dns", "--profile", "l4xnat", "vip=192.0.2.10", "vport=53", "persistence=srcip")
	a.must("backend", "add", "dns", "10.0.0.3", "alias=first")
	a.must("backend", "add", "dns", "10.0.0.4:53")
	a.must("farm", "create", "six", "vip=::1", "vport=8080")
	a.must("service", "create", "six", "web")
	a.must("backend", "create", "six", "web", "[2001:db8::1]:80")
	for _, c := range []struct{ command, shows, want string }{
		{"backend set shop web 10.0.0.2:8080 weight=7", "backend show shop web 10.0.0.2", "weight            7"},
		{"backend maintenance shop web 10.0.0.1", "backend show shop web 0", "drain"},
		{"backend maintenance dns first", "backend show dns 10.0.0.3", "drain"},
		{"backend set six web 2001:DB8:0::1 weight=4", "backend show six web [2001:db8::1]:80", "weight            4"},
		{"session create dns 192.0.2.7 10.0.0.4:53", "backend show dns 1", "10.0.0.4"},
		{"conn flush dns --backend 10.0.0.4", "conn list dns --backend first", "BACKEND"},
		{"backend delete dns 10.0.0.3", "backend list dns", "10.0.0.4"},
		{"backend add dns 10.0.0.5", "backend show dns 2", "10.0.0.5"}, // numbers are not reused
	} {
		a.must(strings.Fields(c.command)...)
		if out := a.must(strings.Fields(c.shows)...); !strings.Contains(out, c.want) {
			t.Errorf("after %q, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
	a.must("backend", "create", "shop", "web", "10.0.0.2:9090")
	for command, want := range map[string]string{
		"backend set shop web 10.0.0.2 weight=1":    "use the number, 1 or 2",
		"backend set shop web 10.0.0.9 weight=1":    "`sluice backend list shop web` lists them",
		"backend show shop web 9":                   "`sluice backend list shop web` lists them",
		"session create shop web 192.0.2.7 nowhere": "there is no backend",
		"conn flush dns --backend 10.9.9.9":         "`sluice backend list dns`",
	} {
		if r := a.run(strings.Fields(command)...); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", command, r, want)
		}
	}
}

// Errors refer to commands, not to the API.
func TestErrorsSpeakOfCommands(t *testing.T) {
	a := start(t)
	a.shop()
	a.must("farm", "create", "dns", "--profile", "l4xnat", "vip=192.0.2.10", "vport=53", "datapath=kernel", "nattype=dsr")
	for _, command := range []string{
		"backend list dns web", "backend add dns web 10.0.0.1:53", "service create dns web", "service list dns", "service show dns web", "conn list shop", "conn flush shop --backend 0",
		"trace dns", "explain dns /", "farm show none", "farm set none contimeout=3", "service set shop none urlp=^/", "backend list none", "session list none", "stats none",
		"certificate show none.pem", "certificate delete none.pem", "rollback 99", "header list none", "rewrite list shop none", "acme show none", "reload", "farm start none", "session delete shop web none", "key delete none",
	} {
		r := a.run(strings.Fields(command)...)
		if r.code == 0 {
			continue
		}
		for _, path := range []string{"/farms", "/services", "/certificates", "/connections", "/stats", "/history", "/config", "GET ", "PUT ", "POST ", "DELETE ", "/api/"} {
			if strings.Contains(r.stderr, path) {
				t.Errorf("%s speaks of %q:\n%s", command, path, r.stderr)
			}
		}
	}
}
