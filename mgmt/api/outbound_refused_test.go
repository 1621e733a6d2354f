package api_test

import (
	"strings"
	"testing"
)

// Servers that the appliance would never connect to are refused when they are set, with the
// reason: link-local addresses and the metadata services of clouds, in each notation.
func TestServersThatAreNeverConnectedToAreRefused(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, host := range []string{"169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::a9fe:a9fe]", "100.100.100.200"} {
		bare := host
		if host[0] == '[' {
			bare = host[1 : len(host)-1]
		}
		for _, c := range [][3]string{
			{"PUT", "/farms/shop", `{"log_target":"udp://` + host + `:514"}`},
			{"PUT", "/farms/shop", `{"log_target":"tcp://` + host + `:514"}`},
			{"POST", "/system/syslog", `{"servers":["tcp://` + host + `:514"]}`},
			{"POST", "/system/syslog", `{"servers":["udp://log.example.com:514","tls://` + host + `:6514"]}`},
			{"POST", "/system/rsyslog", `{"ip":"` + bare + `"}`},
			{"POST", "/system/notifications/methods/email", `{"server":"` + host + `:25","from":"lb@example.com","to":"ops@example.com"}`},
			{"POST", "/rbac/ldap", `{"host":"` + bare + `","base_dn":"dc=example,dc=com"}`},
			{"POST", "/rbac/oidc", `{"issuer":"https://` + host + `/"}`},
		} {
			r := a.do(c[0], c[1], c[2])
			if r.status != 400 || !strings.Contains(r.raw, "no server is there") && !strings.Contains(r.raw, "it is not asked") {
				t.Errorf("%v: %d %s", c, r.status, r.raw)
			}
		}
	}
	a.must(200, "PUT", "/farms/shop", `{"log_target":"udp://192.0.2.99:514"}`)
	a.must(200, "PUT", "/farms/shop", `{"log_target":"unix:///dev/log"}`)
	a.must(200, "PUT", "/farms/shop", `{"log_target":"udp://log.example.com:514"}`)
}

// A document with such servers is accepted with a warning: it may be a backup, or the file of
// the start, from a version that accepted them.
func TestServersThatAreNeverConnectedToAreWarningsInDocuments(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	const old = `
farms:
  - {name: shop, profile: http, vip: 192.0.2.1, vport: 80, log_target: "udp://169.254.169.254:514"}
  - {name: relay, profile: l4xnat, vip: 192.0.2.1, vport: "81"}
system:
  syslog: {servers: ["tls://log.example.com:6514", "udp://[fe80::1]:514"]}
`
	r := a.must(200, "PUT", "/config", old, "Content-Type", "application/yaml")
	for _, want := range []string{"log_target has no effect: 169.254.169.254", "servers has no effect: fe80::1"} {
		if !strings.Contains(r.raw, want) {
			t.Errorf("not said: %s\n%s", want, r.raw)
		}
	}
	a.must(200, "PUT", "/farms/shop", `{"vport":82}`) // a change of another field
	a.do("PUT", "/farms/shop", `{"log_target":"udp://169.254.169.254:514"}`).refused(t, 400, "log_target is not possible")
	if r := a.must(200, "GET", "/farms/shop/lint", ""); !strings.Contains(r.raw, "log_target has no effect") {
		t.Errorf("no finding: %s", r.raw)
	}
}
