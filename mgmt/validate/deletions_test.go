package validate_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/validate"
)

const oldDocument = `
system:
  aliases:
    backends: ["10.0.0.1=db-1"]
checks:
  - name: alive
    command: check_tcp -H HOST -p PORT
farms:
  - name: shop
    profile: http
    vip: 192.0.2.10
    vport: 80
    services:
      - name: web
        backends: [{ip: 10.0.0.1, port: 80}, {ip: 10.0.0.2, port: 80}]
      - name: api
        backends: [{ip: 10.0.0.3, port: 80}]
  - name: dns
    profile: l4xnat
    vip: 192.0.2.10
    vport: "53"
    protocol: udp
    backends: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]
  - name: names
    profile: gslb
    vip: 192.0.2.11
    vport: 53
    zones:
      - name: example.com
        defnamesv: ns1
        resources:
          - {rname: ns1, type: A, rdata: 192.0.2.1}
          - {rname: www, type: A, rdata: 192.0.2.2}
          - {rname: www, type: A, rdata: 192.0.2.3}
      - name: example.org
`

// withNumbers assigns stable IDs as the store does.
func withNumbers(cfg *farm.Config) *farm.Config {
	n := uint32(0)
	for i := range cfg.Farms {
		n++
		cfg.Farms[i].ID = n
		for _, g := range cfg.Farms[i].Groups() {
			n++
			*g.IDAt() = n
			for k := range g.Backends() {
				n++
				g.Backends()[k].ID = n
			}
		}
	}
	return cfg
}

func TestDeletionsAreObjectsThatAreGone(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"another setting", "vport: 80", "vport: 81", ""},
		{"another record in its place", "192.0.2.2}", "192.0.2.9}", ""},
		{"a farm", "  - name: dns\n    profile: l4xnat\n    vip: 192.0.2.10\n    vport: \"53\"\n    protocol: udp\n    backends: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]\n", "", "farm dns"},
		{"a service", "      - name: api\n        backends: [{ip: 10.0.0.3, port: 80}]\n", "", "service api of farm shop"},
		{"a backend", "{ip: 10.0.0.1, port: 80}, ", "", "backend 10.0.0.1:80 of service web of farm shop"},
		{"another backend in its place", "{ip: 10.0.0.1, port: 80}, ", "{ip: 10.0.0.9, port: 80}, ", "backend 10.0.0.1:80 of service web of farm shop"},
		{"a backend without a port", "[{ip: 10.0.0.1}, ", "[", "backend 10.0.0.1 of farm dns"},
		{"a zone", "      - name: example.org\n", "", "zone example.org of farm names"},
		{"records", "          - {rname: www, type: A, rdata: 192.0.2.2}\n", "", "records 1 of zone example.com of farm names"},
		{"a check", "  - name: alive\n    command: check_tcp -H HOST -p PORT\n", "", "check alive"},
		{"an alias", `["10.0.0.1=db-1"]`, "[]", "alias db-1 of 10.0.0.1"},
	} {
		from, err := document.Decode([]byte(oldDocument))
		if err != nil {
			t.Fatal(err)
		}
		to, err := document.Decode([]byte(strings.Replace(strings.Replace(oldDocument, c.old, c.new, 1), "checks:\nfarms", "checks: []\nfarms", 1)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		withNumbers(from)
		document.Carry(from, to)
		var got []string
		for _, d := range validate.Deletions(from, to) {
			got = append(got, d.Kind+" "+d.Name)
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestANewNameDeletesNothing(t *testing.T) {
	from, err := document.Decode([]byte(oldDocument))
	if err != nil {
		t.Fatal(err)
	}
	to := withNumbers(from).Clone()
	to.Farms[0].Name = "store"
	if got := validate.Deletions(from, to); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
