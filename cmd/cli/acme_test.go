package cli_test

import (
	"strings"
	"testing"
)

func TestACMEIsConfiguredAndRefusesOrdersWithTheReason(t *testing.T) {
	a := start(t)
	refused := func(code int, text string, args ...string) {
		t.Helper()
		if r := a.run(args...); r.code != code || !strings.Contains(r.stderr, text) {
			t.Errorf("sluice %s: exit %d, want %d with %q\n%s", strings.Join(args, " "), r.code, code, text, r.stderr)
		}
	}
	refused(1, "set email", "acme", "order", "www.sluice.test", "--vip", "192.0.2.10")
	a.must("acme", "config", "email=ops@sluice.test")
	if out := a.must("acme", "config"); !strings.Contains(out, "ops@sluice.test") || !strings.Contains(out, "acme-v02.api.letsencrypt.org") {
		t.Errorf("config shows\n%s", out)
	}
	refused(1, "email", "acme", "config", "email=nobody")
	refused(1, "wildcard", "acme", "order", "*.sluice.test", "--vip", "192.0.2.10")
	refused(1, "no hook is set", "acme", "order", "*.sluice.test", "--dns")
	refused(1, "hook", "acme", "config", "hook=../sh")
	refused(1, "1 to 900", "acme", "config", "dns_wait=901")
	refused(1, "address:port", "acme", "config", "dns_servers=ns.test")
	a.must("acme", "config", "dns_wait=30", "dns_servers=192.0.2.53:53", "dns_servers=[2001:db8::1]:53")
	if out := a.must("acme", "config"); !strings.Contains(out, "[2001:db8::1]:53") || !strings.Contains(out, "30") {
		t.Errorf("config shows\n%s", out)
	}
	a.must("acme", "config", "dns_wait=null", "dns_servers=null")
	refused(1, "does not exist", "acme", "order", "www.sluice.test", "--farmname", "none")
	refused(1, "not ordered here", "acme", "renew", "www.sluice.test.pem", "--force")
	refused(2, "", "acme", "order")
	if out := a.must("acme", "list"); !strings.Contains(out, "RENEWED FROM") {
		t.Errorf("list shows\n%s", out)
	}
}
