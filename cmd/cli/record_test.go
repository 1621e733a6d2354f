package cli_test

import (
	"strings"
	"testing"
)

func TestCommandsOfZonesDoWhatTheySay(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "names", "vip=127.0.0.1", "vport=5300", "profile=gslb")
	a.must("zone", "create", "names", "example.com")
	a.must("zone", "create", "names", "example.net")
	for _, c := range []struct{ command, shows, want, not string }{
		{"record create names example.com www A 192.0.2.10", "zone export names example.com", "www IN A 192.0.2.10", ""},
		{"record create names example.com @ MX 10 mail ttl=60 comment=first", "record list names example.com", "3 @ 60 MX 10 mail first", ""},
		{"record create names example.com note txt v=spf1~-all", "record list names example.com", "4 note - TXT v=spf1 -all -", ""},
		{"record set names example.com 3 rdata=20~post ttl=30 comment=second", "record list names example.com", "3 @ 30 MX 20 post second", "10 mail"},
		{"record delete names example.com 2", "record list names example.com", "note", "192.0.2.10"},
		{"zone set names example.com ttl=120", "zone export names example.com", "$TTL 120", ""},
		{"zone create names 0/25.2.0.192.in-addr.arpa", "zone list names", "0/25.2.0.192.in-addr.arpa", ""},
		{"record create names 0/25.2.0.192.in-addr.arpa 7 PTR www.example.com.", "record list names 0/25.2.0.192.in-addr.arpa", "PTR www.example.com.", ""},
		{"zone delete names 0/25.2.0.192.in-addr.arpa", "zone list names", "example.net", "arpa"},
		{"zone delete names example.net", "zone list names", "example.com", "example.net"},
	} {
		args := strings.Fields(c.command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "~", " ")
		}
		if out := a.must(args...); strings.TrimSpace(out) == "" {
			t.Errorf("%s has no output", c.command)
		}
		out := strings.Join(strings.Fields(a.must(strings.Fields(c.shows)...)), " ")
		if !strings.Contains(out, c.want) || c.not != "" && strings.Contains(out, c.not) {
			t.Errorf("after %q, %q does not show %q:\n%s", c.command, c.shows, c.want, out)
		}
	}
}
