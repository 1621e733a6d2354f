package api_test

import (
	"strings"
	"testing"
)

// A value is either stored in its normal form, which responses show, or rejected with a
// reason.
func TestFormatsAreNormalisedOrRefused(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	a.gslb()
	const records = "/farms/names/zones/example.com/resources"
	for _, c := range []struct {
		path, field, value string // JSON
		shown              any    // nil: rejected
		at                 string
	}{
		{"/farms/shop", "vport", `"080"`, 80.0, "params.vport"}, {"/farms/shop", "vport", `8e1`, 80.0, "params.vport"}, {"/farms/shop", "vport", `"80.0"`, 80.0, "params.vport"},
		{"/farms/shop", "vport", `" 80"`, nil, ""}, {"/farms/shop", "vport", `"+80"`, nil, ""}, {"/farms/shop", "vport", `"8e1"`, nil, ""}, {"/farms/shop", "vport", `"0x50"`, nil, ""}, {"/farms/shop", "vport", `true`, nil, ""}, {"/farms/shop", "vport", `""`, nil, ""}, {"/farms/shop", "vport", `null`, nil, ""},
		{"/farms/dns", "vport", `" 090"`, "90", "params.vport"}, {"/farms/dns", "vport", `"95, 090"`, "90,95", "params.vport"}, {"/farms/dns", "vport", `"90:090"`, "90", "params.vport"}, {"/farms/dns", "vport", `90`, "90", "params.vport"},
		{"/farms/dns", "vport", `"80,80"`, nil, ""}, {"/farms/dns", "vport", `"90:80"`, nil, ""}, {"/farms/dns", "vport", `"+80"`, nil, ""}, {"/farms/dns", "vport", `"8e1"`, nil, ""}, {"/farms/dns", "vport", `"80,"`, nil, ""},
		{"/farms/shop", "vip", `"192.0.2.010"`, nil, ""}, {"/farms/shop", "vip", `"::ffff:192.0.2.10"`, nil, ""}, {"/farms/shop", "vip", `"192.0.2.10."`, nil, ""}, {"/farms/shop", "vip", `"[::1]"`, nil, ""}, {"/farms/shop", "vip", `"fe80::1%eth0"`, nil, ""},
		{web + "/backends/0", "weight", `"03"`, 3.0, "params.0.weight"}, {web + "/backends/0", "weight", `"+3"`, nil, ""}, {web + "/backends/0", "weight", `true`, nil, ""}, {web + "/backends/0", "port", `"08080"`, 8080.0, "params.0.port"},
		{web + "/backends/0", "ip", `"2001:DB8:0::1"`, "2001:db8::1", "params.0.ip"}, {web + "/backends/0", "ip", `"10.0.0.01"`, nil, ""}, {web + "/backends/0", "ip", `"10.0.0.2 "`, nil, ""}, {web + "/backends/0", "ip", `"a..b"`, nil, ""}, {web + "/backends/0", "ip", `"10.5"`, nil, ""},
		{web, "httpsb", `"true"`, "true", "services.httpsb"}, {web, "httpsb", `true`, "true", "services.httpsb"}, {web, "httpsb", `"TRUE"`, nil, ""}, {web, "httpsb", `1`, nil, ""}, {web, "httpsb", `""`, nil, ""}, {web, "httpsb", `null`, nil, ""},
		{web, "urlp", `"^/a(?#x)"`, nil, ""}, {web, "urlp", `"# all"`, nil, ""}, {web, "urlp", `"^/a # all"`, nil, ""}, {web, "urlp", `"^/a\\#b"`, `^/a\#b`, "services.urlp"}, {web, "urlp", `"^/a([/?#]|$)"`, "^/a([/?#]|$)", "services.urlp"}, {web, "urlp", `""`, "", "services.urlp"}, {web, "urlp", `null`, "", "services.urlp"},
	} {
		r := a.do("PUT", c.path, `{"`+c.field+`":`+c.value+`}`)
		if c.shown == nil {
			if message, _ := r.body["message"].(string); r.status != 400 || !strings.Contains(message, c.field+" must") {
				t.Errorf("%s %s=%s: %d %s", c.path, c.field, c.value, r.status, r.raw)
			}
			continue
		}
		path := strings.TrimSuffix(c.path, "/0")
		if got := a.do("GET", path, "").at(c.at); r.status != 200 || got != c.shown {
			t.Errorf("%s %s=%s: %d %s, shown %v", c.path, c.field, c.value, r.status, r.raw, got)
		}
	}
	// Zones and their records.
	for name, shown := range map[string]string{"Example.NET.": "example.net", "_tcp.example.org": "_tcp.example.org", "0/25.2.0.192.in-addr.arpa": "0/25.2.0.192.in-addr.arpa", "bad_zone": "", "a.bad_zone": "", "-a.example": "", "a-.example": "", "a..b": "", "EXAMPLE.com": ""} {
		if r := a.do("POST", "/farms/names/zones", `{"id":"`+name+`"}`); (r.status == 201) != (shown != "") || shown != "" && r.at("params.id") != shown {
			t.Errorf("zone %s: %d %s", name, r.status, r.raw)
		}
	}
	a.must(201, "POST", records, `{"rname":"www","type":"AAAA","rdata":"2001:db8::1"}`)
	a.must(201, "POST", records, `{"rname":"www","type":"AAAA","rdata":"2001:db8::2"}`)
	a.must(201, "POST", records, `{"rname":"mail","type":"MX","rdata":"10 mx"}`)
	for _, same := range []string{`{"rname":"www","type":"AAAA","rdata":"2001:db8::1"}`, `{"rname":"WWW","type":"AAAA","rdata":"2001:DB8:0::1"}`, `{"rname":"www.example.com.","type":"AAAA","rdata":"2001:db8::1","ttl":60}`, `{"rname":"mail","type":"MX","rdata":"10 mx.example.com."}`} {
		a.do("POST", records, same).refused(t, 400, "has this record already")
	}
	list, _ := a.must(200, "GET", records, "").at("params").([]any)
	last, _ := list[len(list)-2].(map[string]any)
	a.must(200, "PUT", records+"/"+quoteAny(last["id"]), `{"ttl":60}`) // it is not a duplicate of itself
	a.do("PUT", records+"/"+quoteAny(last["id"]), `{"rdata":"2001:db8::1"}`).refused(t, 400, "has this record already")
}
