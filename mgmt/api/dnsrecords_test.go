package api_test

import (
	"fmt"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// large makes the zone one of n records in packed runs, of several types and comments.
func large(t *testing.T, n int) *appliance {
	a := zoned(t)
	var file strings.Builder
	for i := range n {
		switch i % 7 {
		case 0:
			fmt.Fprintf(&file, "h%d 60 AAAA 2001:db8::%x\n", i, i%65536)
		case 1:
			fmt.Fprintf(&file, "t%d TXT \"size %d\" ; für H%d\n", i, i, i%10)
		case 2:
			fmt.Fprintf(&file, "Mail%d MX 10 h%d ; \n", i, i/2)
		default:
			fmt.Fprintf(&file, "h%d A 10.0.%d.%d\n", i, i>>8&255, i&255)
		}
	}
	a.must(200, "POST", zone+"/import?add=true", file.String(), textFile...)
	if len(a.config().Farms[0].Global.Zones[0].Packed) == 0 && n > 2000 {
		t.Fatal("the records of the zone are not packed")
	}
	return a
}

type item = map[string]any

func itemsOf(r reply) (out []item) {
	for _, one := range r.at("params").([]any) {
		out = append(out, one.(item))
	}
	return out
}

// Filters and pages of records return what a search of the whole list does, in small and
// large zones.
func TestRecordsAreFoundAsInTheWholeList(t *testing.T) {
	for _, n := range []int{300, 4000} {
		a := large(t, n)
		a.must(201, "POST", zone+"/resources", `{"rname":"www","type":"DYNA","rdata":"shop","comment":"Groß und klein"}`)
		all := itemsOf(a.must(200, "GET", zone+"/resources", ""))
		if len(all) < n {
			t.Fatalf("%d records", len(all))
		}
		has := func(r item, name, want string) bool {
			text, is := r[name].(string)
			return want == "" || is && strings.Contains(strings.ToLower(text), strings.ToLower(want))
		}
		for _, query := range []string{
			"", "rname=h1", "rname=H1&type=a", "type=aaaa", "type=AAA", "type=dyna", "type=none", "rdata=10.0.1.", "comment=FÜR", "comment=für h7",
			"comment=GROSS", "comment=groß", "ttl=60", "ttl=60&rname=h7", "id=5", "id=5&type=A", "zone=example.com&type=NS", "rname=h2&rdata=10&ttl=60",
			"search=h21", "search=MAIL", "search=h3 a 10.0", "search=www dyna shop groß", "search=für h2&type=TXT", "search=nothing like it", "search=h1&rname=h12&rdata=10.0.0",
		} {
			asked, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(all), func(r item) bool {
				for _, name := range []string{"rname", "rdata", "comment", "zone"} {
					if !has(r, name, asked.Get(name)) {
						return true
					}
				}
				for _, name := range []string{"ttl", "id"} {
					if wanted := asked.Get(name); wanted != "" && fmt.Sprint(r[name]) != wanted {
						return true
					}
				}
				r["joined"] = fmt.Sprint(r["rname"], " ", r["type"], " ", r["rdata"], " ", r["comment"])
				return !has(r, "joined", asked.Get("search")) || asked.Get("type") != "" && !strings.EqualFold(r["type"].(string), asked.Get("type"))
			})
			for _, page := range []string{"", "&limit=3", "&limit=50&offset=2", "&offset=1"} {
				of := want
				if asked, _ := url.ParseQuery(page); page != "" {
					from, limit := 0, len(want)
					_, _ = fmt.Sscan(asked.Get("offset"), &from)
					_, _ = fmt.Sscan(asked.Get("limit"), &limit)
					of = want[min(from, len(want)):]
					of = of[:min(limit, len(of))]
				}
				r := a.must(200, "GET", zone+"/resources?"+asked.Encode()+page, "")
				if got := itemsOf(r); !slices.EqualFunc(got, of, func(a, b item) bool { return a["id"] == b["id"] && a["rdata"] == b["rdata"] }) {
					t.Errorf("%d records: %q finds %d records, want %d: %.300s", n, query+page, len(got), len(of), r.raw)
				}
				if total := r.at("total"); page != "" && total != float64(len(want)) {
					t.Errorf("%d records: %q finds %v in total, want %d", n, query+page, total, len(want))
				}
			}
		}
	}
}

// The cost of a page depends only on its records, not on its position in a large zone.
func TestAPageOfRecordsReadsOnlyThese(t *testing.T) {
	a := large(t, 20_000)
	cost := func(query string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a.must(200, "GET", zone+"/resources"+query, "")
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	all := cost("")
	for _, query := range []string{"?limit=10", "?limit=10&offset=15000", "?limit=10&type=NS", "?limit=10&search=h19999", "?limit=10&rdata=10.0.1.1"} {
		if got := cost(query); got > all/10 {
			t.Errorf("%s allocates %d bytes, and the whole list %d", query, got, all)
		}
	}
}

// By default the records of a large zone are left out.
func TestRecordsOfLargeZonesAreListedWhereTheyAreWanted(t *testing.T) {
	a := large(t, 10_100)
	a.must(201, "POST", "/farms/names/zones", `{"id":"small.test"}`)
	for _, path := range []string{"/farms/names", "/farms/names/zones", zone} {
		large := a.must(200, "GET", path, "").raw
		if strings.Contains(large, `"rname": "t1`) || !strings.Contains(large, `"record_count": 10102`) {
			t.Errorf("%s: %.400s", path, large)
		}
		if path != zone && !strings.Contains(large, `"rname": "ns1"`) {
			t.Errorf("%s has no records of the small zone: %.400s", path, large)
		}
		if r := a.must(200, "GET", path+"?records=all", ""); !strings.Contains(r.raw, `"rname": "t10095"`) {
			t.Errorf("%s?records=all has no records", path)
		}
		if r := a.must(200, "GET", path+"?records=count", ""); strings.Contains(r.raw, "rname") {
			t.Errorf("%s?records=count has records: %.400s", path, r.raw)
		}
	}
	for path, want := range map[string]string{zone: "[A AAAA MX NS TXT]", "/farms/names/zones/small.test": "[A NS]"} {
		if got := fmt.Sprint(a.must(200, "GET", path+"?records=count", "").at("params.record_types")); got != want {
			t.Errorf("%s has the types %s, want %s", path, got, want)
		}
	}
}

// Absolute and escaped names are shown, and kept, relative to the zone. Rules compare names.
func TestNamesOfRecordsAreRelativeToTheZone(t *testing.T) {
	a := zoned(t)
	records := zone + "/resources"
	for _, c := range [][2]string{
		{`{"rname":"www.example.com.","type":"A","rdata":"192.0.2.1"}`, "www"},
		{`{"rname":"\\116wo.Example.COM.","type":"DYNA","rdata":"shop"}`, "two"},
		{`{"rname":"example.com.","type":"TXT","rdata":"x"}`, "@"},
		{`{"rname":"Kept","type":"TXT","rdata":"x"}`, "Kept"},
	} {
		a.must(201, "POST", records, c[0]).want(t, "params.rname", c[1])
	}
	a.must(200, "PUT", records+"/4", `{"rname":"text.example.com."}`).want(t, "params.rname", "text")
	a.must(200, "GET", zone, "").want(t, "params.resources.4.rname", "text")
	a.must(200, "POST", records+"/bulk", `{"resources":[{"rname":"bulk.example.com.","type":"A","rdata":"192.0.2.2"}],
		"change":[{"id":5,"rname":"other.example.com."}]}`)
	z := a.must(200, "GET", zone, "")
	z.want(t, "params.resources.5.rname", "other")
	z.want(t, "params.resources.6.rname", "bulk")
	for body, want := range map[string]string{
		`{"rname":"example.com.","type":"CNAME","rdata":"x"}`:               "type CNAME is not possible for @",
		`{"rname":"www.example.com.","type":"CNAME","rdata":"x"}`:           "type CNAME must be alone",
		`{"rname":"two.example.com.","type":"A","rdata":"192.0.2.1"}`:       "type DYNA gives all addresses",
		`{"rname":"www.example.org.","type":"A","rdata":"192.0.2.1"}`:       "is not in the zone example.com",
		`{"rname":"` + longName + `","type":"A","rdata":"192.0.2.1"}`:       "is too long",
		`{"rname":"www.example.com.","type":"A","rdata":"192.0.2.1"}`:       "has this record already",
		`{"rname":"shop.example.com.","type":"DYNA","rdata":"nosuchthing"}`: "does not exist",
	} {
		if r := a.do("POST", records, body); r.status != 400 && r.status != 404 || !strings.Contains(r.raw, want) {
			t.Errorf("%s: %d %s, want %q", body, r.status, r.raw, want)
		}
		if want == "has this record already" {
			continue
		}
		want = strings.Replace(want, "does not exist", "there is no service", 1)
		if r := a.do("POST", records+"/bulk", `{"resources":[`+body+`]}`); r.status != 400 || !strings.Contains(r.raw, want) {
			t.Errorf("bulk %s: %d %s, want %q", body, r.status, r.raw, want)
		}
	}
	document := a.must(200, "GET", "/config", "").raw
	absolute := strings.Replace(document, "rname: bulk\n", "rname: bulk.example.com.\n", 1)
	if absolute == document {
		t.Fatal(document)
	}
	a.must(200, "PUT", "/config", absolute, "Content-Type", "application/yaml")
	if after := a.must(200, "GET", "/config", "").raw; after != document {
		t.Errorf("a document with an absolute name became %s", after)
	}
	apex := regexp.MustCompile(`rname: bulk\.example\.com\.(\s+type: )A(\s+rdata: )192\.0\.2\.2`).
		ReplaceAllString(absolute, "rname: example.com.${1}CNAME${2}x")
	a.do("PUT", "/config", apex, "Content-Type", "application/yaml").refused(t, 400, "CNAME is not possible for @")
}

// longName is valid alone and too long in a zone.
var longName = strings.Repeat(strings.Repeat("a", 60)+".", 4)[:4*61-1]
