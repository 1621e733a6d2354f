package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// A classless reverse zone has a slash in its name (RFC 2317 §4). It can be created, read,
// changed and removed.
func TestAZoneWithASlashIsReachedByItsName(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	const name, path = "0/25.2.0.192.in-addr.arpa", "/farms/names/zones/0%2F25.2.0.192.in-addr.arpa"
	a.must(201, "POST", "/farms/names/zones", `{"id":"`+name+`"}`)
	a.must(201, "POST", path+"/resources", `{"rname":"7","type":"PTR","rdata":"www.example.com."}`)
	a.must(200, "PUT", strings.Replace(path, "2F", "2f", 1), `{"ttl":60}`)
	if r := a.must(200, "GET", path, ""); !strings.Contains(r.raw, name) || !strings.Contains(r.raw, "www.example.com.") {
		t.Error(r.raw)
	}
	if r := a.must(200, "GET", path+"/export", ""); !strings.Contains(r.raw, "PTR") {
		t.Error(r.raw)
	}
	a.must(200, "POST", "/transactions", `{"writes":[{"method":"DELETE","path":"`+path+`"}]}`)
	a.must(404, "GET", path, "")
}

// No other escape works, and no other name has this one.
func TestEscapesInPathsOfZonesLeadNowhereElse(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	for _, path := range []string{
		"/farms/names/zones/example%2Ecom", "/farms/names/zones/x%2F..%2Fexample.com", "/farms/names%2Fzones/example.com", "/farms/names/zones%2Fexample.com",
		"/farms/na%2Fmes/zones/example.com", "/farms/names/zones/example.com%2Fexport", "/farms/names/zones/example.com/resources%2Fbulk", "/farms/names/zones/%2F",
		"/farms/names/zones/example.com%00", "/farms/names/zones/..%2F..%2Fnames",
	} {
		a.must(404, "GET", path, "")
	}
}

// Zone names that no path can contain are rejected at creation.
func TestNamesOfZonesAreThoseOfDomains(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	for _, name := range []string{"a?b.test", "a#b.test", "a%41.test", `a\\.b.test`, "a'b.test", "x,y.test", "{a}.test", "0", "*.a.test", "ä.test", "a~b.test"} {
		if r := a.must(400, "POST", "/farms/names/zones", `{"id":"`+name+`"}`); !strings.Contains(r.raw, "id") {
			t.Error(r.raw)
		}
	}
	a.must(201, "POST", "/farms/names/zones", `{"id":"_tcp.my-shop.example"}`)
}

// The root zone is @ in paths, because clients remove dot segments.
func TestTheRootZoneIsReachedByItsName(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	a.must(201, "POST", "/farms/names/zones", `{"id":"."}`)
	a.must(400, "POST", "/farms/names/zones", `{"id":"."}`)
	a.must(400, "POST", "/farms/names/zones", `{"id":".."}`)
	for _, path := range []string{"/farms/names/zones/@", "/farms/names/zones/%40", "/farms/names/zones/%2e"} {
		a.must(201, "POST", path+"/resources", `{"rname":"com","type":"NS","rdata":"ns1.com."}`)
		a.must(200, "PUT", path, `{"ttl":60}`)
		if r := a.must(200, "GET", path, ""); !strings.Contains(r.raw, `"id": "."`) {
			t.Error(r.raw)
		}
		if r := a.must(200, "GET", path+"/export", ""); !strings.HasPrefix(r.raw, "$ORIGIN .\n") {
			t.Error(r.raw)
		}
		a.must(200, "DELETE", path+"/resources/2", "")
		a.must(200, "DELETE", path, "")
		a.must(404, "GET", path, "")
		a.must(201, "POST", "/farms/names/zones", `{"id":"."}`)
	}
}

// A TTL of zero is valid; null means that of the zone or the service.
func TestATTLOfZeroIsKept(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	const zone = "/farms/names/zones/t.example"
	a.must(201, "POST", "/farms/names/zones", `{"id":"t.example","ttl":0}`)
	a.must(201, "POST", zone+"/resources", `{"rname":"a","type":"A","rdata":"192.0.2.1","ttl":0}`)
	shows := func(path, want string) {
		t.Helper()
		r := a.must(200, "GET", path, "")
		if !strings.Contains(strings.NewReplacer(" ", "", "\n", "").Replace(r.raw), want) && !strings.Contains(r.raw, want) {
			t.Errorf("%s is not in %s", want, r.raw)
		}
	}
	shows(zone+"/resources", `"ttl":0,"type":"A"`)
	shows(zone+"/export", "$TTL 0\n")
	shows(zone+"/export", "a\t0\tIN\tA")
	a.must(200, "PUT", zone+"/resources/2", `{"ttl":null}`)
	shows(zone+"/export", "a\tIN\tA")
	a.must(200, "PUT", zone, `{"ttl":null}`)
	shows(zone, `"ttl":3600`)
	shows(zone+"/export", "$TTL 3600\n")
	a.must(201, "POST", "/farms/names/services", `{"id":"now","algorithm":"roundrobin","ttl":0}`)
	shows("/farms/names", `"ttl":0`)
	a.must(200, "PUT", "/farms/names/services/now", `{"ttl":null}`)
	shows("/farms/names", `"ttl":30`)
}

// If a zone is created with a serial older than the one it gets, the response says so.
func TestACreatedZoneTellsItsSerial(t *testing.T) {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":53}`)
	old := a.must(201, "POST", "/farms/names/zones", `{"id":"old.example","serial":7}`)
	inForce := a.must(200, "GET", "/farms/names/zones/old.example", "").at("params.serial").(float64)
	old.want(t, "params.serial", inForce)
	if text, _ := old.at("warning").(string); !strings.Contains(text, "serial: 7 is older than") || inForce == 7 {
		t.Errorf("%v: %s", inForce, old.raw)
	}
	fresh := a.must(201, "POST", "/farms/names/zones", `{"id":"new.example","serial":3000000000}`)
	fresh.want(t, "params.serial", 3000000000)
	if strings.Contains(fresh.raw, "is older") {
		t.Error(fresh.raw)
	}
	a.must(200, "GET", "/farms/names/zones/new.example", "").want(t, "params.serial", 3000000000)
}

// Clients can request the number of records without the records.
func TestRecordsOfZonesCanBeCountedOnly(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	a.must(201, "POST", "/farms/names/zones", `{"id":"counted.test"}`)
	for _, name := range []string{"one", "two"} {
		a.must(201, "POST", "/farms/names/zones/counted.test/resources", `{"rname":"`+name+`","type":"A","rdata":"192.0.2.1"}`)
	}
	for path, list := range map[string]bool{"/farms/names": true, "/farms/names/zones": true, "/farms/names/zones/counted.test": false} {
		all := a.must(200, "GET", path, "").raw
		counted := a.must(200, "GET", path+"?records=count", "").raw
		if !strings.Contains(all, `"record_count": 4`) || !strings.Contains(all, `"rname": "two"`) {
			t.Errorf("%s: %s", path, all)
		}
		if a.must(200, "GET", path+"?records=all", "").raw != all {
			t.Errorf("%s: records=all is not the default of a small zone", path)
		}
		if !strings.Contains(counted, `"record_count": 4`) || strings.Contains(counted, "rname") || strings.Contains(counted, "resources") {
			t.Errorf("%s with records=count: %s", path, counted)
		}
		if r := a.must(400, "GET", path+"?records=some", ""); !strings.Contains(r.raw, "allowed are all and count") {
			t.Errorf("%s with records=some: %s", path, r.raw)
		}
		if filtered := path + "?records=count&record_count=4"; list && path != "/farms/names" && !strings.Contains(a.must(200, "GET", filtered, "").raw, "counted.test") {
			t.Errorf("%s does not find the zone", filtered)
		}
	}
	// An empty zone has a list, as the family has it.
	for _, r := range a.must(200, "GET", "/farms/names/zones/counted.test/resources", "").at("params").([]any) {
		a.must(200, "DELETE", fmt.Sprint("/farms/names/zones/counted.test/resources/", r.(map[string]any)["id"]), "")
	}
	if r := a.must(200, "GET", "/farms/names/zones/counted.test", ""); !strings.Contains(r.raw, `"resources": []`) || !strings.Contains(r.raw, `"record_count": 0`) {
		t.Error(r.raw)
	}
}

// The records of a large zone are packed, and are counted as others are.
func TestRecordsOfLargeZonesAreCounted(t *testing.T) {
	a := newAppliance(t)
	a.gslb()
	var file strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&file, "h%d 60 A 192.0.2.1\n", i)
	}
	a.must(200, "POST", "/farms/names/zones/example.com/import", file.String(), "Content-Type", "text/dns")
	if len(a.config().Farms[0].Global.Zones[0].Packed) == 0 {
		t.Fatal("the records of the zone are not packed")
	}
	for _, query := range []string{"", "?records=count"} {
		if r := a.must(200, "GET", "/farms/names/zones/example.com"+query, ""); r.at("params.record_count") != 3000.0 {
			t.Errorf("%q: %v records, want 3000", query, r.at("params.record_count"))
		}
	}
}
