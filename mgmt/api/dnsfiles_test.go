package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// zoned returns an appliance with a gslb farm that has a service and an empty zone.
func zoned(t *testing.T) *appliance {
	a := newAppliance(t)
	a.must(201, "POST", "/farms", `{"farmname":"names","profile":"gslb","vip":"192.0.2.10","vport":5300}`)
	a.must(201, "POST", "/farms/names/services", `{"id":"shop","algorithm":"roundrobin"}`)
	a.must(201, "POST", "/farms/names/zones", `{"id":"example.com"}`)
	return a
}

const zone = "/farms/names/zones/example.com"

var textFile = []string{"Content-Type", "text/plain"}

func TestAZoneIsImportedAndExported(t *testing.T) {
	a := zoned(t)
	file := "$TTL 300\n@ SOA ns1 hostmaster 2026112701 3600 600 604800 300\n@ NS ns1\nns1 A 192.0.2.53\nwww DYNA shop ; by health\nmail 60 A 192.0.2.25\nwww RRSIG A 13 3 300 20270101000000 20260101000000 1 example.com. AAAA\n"
	dry := a.must(200, "POST", zone+"/import?dry_run=true", file, textFile...)
	dry.want(t, "params.dry_run", "true")
	r := a.must(200, "POST", zone+"/import", file, textFile...)
	r.want(t, "params.records", 4.0)
	r.want(t, "params.serial", 2026112701.0)
	r.want(t, "params.skipped.RRSIG", 1.0)
	z := a.must(200, "GET", zone, "")
	z.want(t, "params.ttl", 300.0)
	z.want(t, "params.resources.2.type", "DYNA")
	z.want(t, "params.resources.2.comment", "by health")
	z.want(t, "params.resources.3.ttl", 60.0)

	export := a.must(200, "GET", zone+"/export", "")
	if got := export.header.Get("Content-Disposition"); got != `attachment; filename="example.com.zone"` {
		t.Error(got)
	}
	if !strings.Contains(export.raw, "$ORIGIN example.com.\n$TTL 300\n@\tIN\tSOA\tns1 hostmaster 2026112701 ") || !strings.Contains(export.raw, "; DYNA shop: by health") {
		t.Error(export.raw)
	}
	again := a.must(200, "POST", zone+"/import", export.raw, textFile...)
	again.want(t, "params.serial", 2026112701.0)

	added := a.must(200, "POST", zone+"/import?add=true", "$TTL 60\nmail A 192.0.2.25\nftp A 192.0.2.21\n@ SOA other hostmaster 5 1 1 1 1\n", textFile...)
	added.want(t, "params.records", 5.0)
	added.want(t, "params.serial", 2026112702.0)
	z = a.must(200, "GET", zone, "")
	z.want(t, "params.defnamesv", "ns1")
	z.want(t, "params.resources.4.ttl", 60.0)
}

func TestAliasesOfAFileBecomeServicesAndAliasesAgain(t *testing.T) {
	a := zoned(t)
	file := "$TTL 300\n@ NS ns1\nns1 A 192.0.2.53\n@ ALIAS www.example.net. ; the shop\n$ORIGIN eu.example.com.\nwww 60 IN ALIAS shop\n"
	a.must(200, "POST", zone+"/import?dry_run=true", file, textFile...).want(t, "params.dry_run", "true")
	a.must(200, "POST", zone+"/import", file, textFile...).want(t, "params.records", 4.0)
	z := a.must(200, "GET", zone, "")
	z.want(t, "params.resources.2.type", "DYNA")
	z.want(t, "params.resources.2.rdata", "alias-www-example-net")
	z.want(t, "params.resources.3.rdata", "alias-shop-eu-example-com")
	b := a.must(200, "GET", "/farms/names/services/alias-shop-eu-example-com/backends", "")
	b.want(t, "params.0.ip", "shop.eu.example.com")
	b.want(t, "params.0.resolution.resolve", "all")

	export := a.must(200, "GET", zone+"/export", "").raw
	if !strings.Contains(export, "\n@\tIN\tALIAS\twww.example.net. ; the shop\n") || !strings.Contains(export, "\nwww.eu\t60\tIN\tALIAS\tshop.eu.example.com.\n") {
		t.Error(export)
	}
	revision := a.must(200, "GET", "/history", "").at("params.0.number")
	a.must(200, "POST", zone+"/import", export, textFile...)
	a.must(200, "POST", zone+"/import?add=true", "@ 300 ALIAS www.example.net.\n", textFile...).want(t, "params.records", 4.0)
	if now := a.must(200, "GET", "/history", "").at("params.0.number"); now != revision {
		t.Errorf("an import without changes made revision %v", now)
	}
	a.do("POST", zone+"/import", "a A 192.0.2.1\nb ALIAS 192.0.2.2.\n", textFile...).refused(t, 400, "line 2: rdata must be a host name with type ALIAS")
	a.do("POST", zone+"/import", "b ALIAS a\nb A 192.0.2.1\n", textFile...).refused(t, 400, "line 2: type DYNA gives all addresses of its name")
}

// BIND omits such records, too.
func TestRecordsThatAFileHasTwiceOrOutsideTheZoneAreOmitted(t *testing.T) {
	a := zoned(t)
	file := "@ NS ns1\nns1 A 192.0.2.53\na CNAME ns1\nA 60 CNAME NS1.example.com.\na CNAME ns1\nwww.example.net. A 192.0.2.1\n"
	r := a.must(200, "POST", zone+"/import", file, textFile...)
	r.want(t, "params.records", 3.0)
	r.want(t, "warning", "2 records are omitted because they repeat earlier ones; the first is in line 4: A CNAME NS1; line 6 is omitted because its name is outside the zone: www.example.net.")
	a.must(200, "POST", zone+"/import?add=true", "A CNAME NS1\n", textFile...).want(t, "params.records", 3.0)
	a.do("POST", zone+"/import", "www.example.net. A 192.0.2.1\nexample.net. TXT x\n", textFile...).refused(t, 400, "line 1: www.example.net. is not in the zone example.com; line 2: example.net. is not")
	a.do("POST", zone+"/import", "a DNAME b.example.net.\nx.a A 192.0.2.1\n", textFile...).refused(t, 400, `line 2: rname: "x.a" is below a, whose DNAME`)
	a.do("POST", zone+"/resources", `{"rname":"@","type":"DNAME","rdata":"example.net."}`).refused(t, 400, "is below @, whose DNAME")
}

func TestAFileThatBreaksARuleIsRefusedWithItsLines(t *testing.T) {
	a := zoned(t)
	before := a.must(200, "GET", zone, "").raw
	for file, want := range map[string]string{
		"www A 192.0.2.1\nftp A 192.0.2.300\n":      `line 2: "192.0.2.300" is no data of A: it is an IPv4 address, as 192.0.2.1`,
		"a A 192.0.2.1\n\na CNAME b\n":              "line 3: type CNAME must be alone at its name",
		"a DYNA shop\na A 192.0.2.1\nb DYNA none\n": "line 2: type DYNA gives all addresses of its name, and a has others; remove these, or add them to the service; line 3: rdata: there is no service",
		"": "the body is empty",
	} {
		a.do("POST", zone+"/import", file, textFile...).refused(t, 400, want)
	}
	a.do("POST", zone+"/import?add=perhaps", "a A 192.0.2.1\n", textFile...).refused(t, 400, "add")
	a.do("POST", zone+"/import", "{}", "Content-Type", "application/json").refused(t, 415)
	a.do("POST", "/farms/names/zones/example.org/import", "a A 192.0.2.1\n", textFile...).refused(t, 404, "example.org")
	if after := a.must(200, "GET", zone, "").raw; after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestALongZoneIsImported(t *testing.T) {
	a := zoned(t)
	var file strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&file, "host-%d A 10.%d.%d.%d\n", i, i>>16, i>>8&255, i&255)
	}
	a.must(200, "POST", zone+"/import", file.String(), textFile...).want(t, "params.records", 50_000.0)
}

func TestNamesOfZonesAreThereToComplete(t *testing.T) {
	zones := zoned(t).must(200, "GET", "/ids", "").at("params.farms.names.zones").(map[string]any)
	if value, is := zones["example.com"]; !is || value != nil || len(zones) != 1 {
		t.Errorf("%v", zones)
	}
}

func TestStatisticsOfAFarmOfTheDNSHaveItsQueries(t *testing.T) {
	a := zoned(t)
	a.shop(1)
	list := a.must(200, "GET", "/stats/farms", "").at("farms").([]any)
	for _, one := range list {
		f := one.(map[string]any)
		dns, is := f["counters"].(map[string]any)["dns"]
		if is != (f["farmname"] == "names") || is && dns.(map[string]any)["queries"] == nil {
			t.Errorf("%v: %v", f["farmname"], dns)
		}
	}
}

// The diff of a large import is not stored with its revision, but is still shown.
func TestTheDifferenceOfALargeImportIsShown(t *testing.T) {
	a := zoned(t)
	var file strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&file, "host-%d-with-a-long-name A 192.0.2.1\n", i)
	}
	a.must(200, "POST", zone+"/import", file.String(), textFile...)
	newest := a.must(200, "GET", "/history?limit=1", "")
	number := newest.at("params.0.number").(float64)
	diff := a.must(200, "GET", fmt.Sprintf("/history/%.0f/diff", number), "").at("params.diff").(string)
	if got := a.must(200, "GET", fmt.Sprintf("/history/%.0f", number), "").at("params.diff"); got != diff || len(diff) < 1<<20 || !strings.Contains(diff, "+          - rname: host-19999-with-a-long-name") {
		t.Errorf("a difference of %d bytes, ending with %q", len(diff), diff[max(0, len(diff)-200):])
	}
}

func TestASerialIsSetToANewerOneOnly(t *testing.T) {
	a := zoned(t)
	a.must(200, "PUT", zone, `{"serial":3000000000}`).want(t, "params.serial", 3000000000.0)
	a.must(200, "GET", zone, "").want(t, "params.serial", 3000000000.0)
	a.do("PUT", zone, `{"serial":2999999999}`).refused(t, 400, "serial: secondaries take 2999999999 for older than the serial in force, 3000000000")
	a.must(200, "PUT", zone, `{"serial":3000000000,"ttl":60}`)
	a.must(200, "GET", zone, "").want(t, "params.serial", 3000000001.0)
	if text := a.must(200, "GET", "/config", "").raw; !strings.Contains(text, "serial: 3000000001") {
		t.Error(text)
	}
}
