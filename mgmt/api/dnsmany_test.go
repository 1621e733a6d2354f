package api_test

import (
	"fmt"
	"strings"
	"testing"
)

// Changes of records work the same in large and small zones.
func TestRecordsAmongManyAreChanged(t *testing.T) {
	a := zoned(t)
	var file strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&file, "h%d A 10.0.%d.%d\n", i, i>>8, i&255)
	}
	a.must(200, "POST", zone+"/import?add=true", file.String(), textFile...).want(t, "params.records", 3002.0)
	a.must(201, "POST", zone+"/resources", `{"rname":"new","type":"A","rdata":"192.0.2.1"}`).want(t, "params.id", 3002.0)
	a.do("POST", zone+"/resources", `{"rname":"H7.example.com.","type":"A","rdata":"10.0.0.7"}`).refused(t, 400, "the zone example.com has this record already: h7 A 10.0.0.7 (resource 9)")
	a.must(200, "PUT", zone+"/resources/2009", `{"rdata":"192.0.2.2"}`)
	a.do("PUT", zone+"/resources/2010", `{"type":"CNAME","rname":"h5","rdata":"a"}`).refused(t, 400, "type CNAME must be alone")
	a.must(200, "DELETE", zone+"/resources/1000", "")
	a.do("DELETE", zone+"/resources/1000", "").refused(t, 404, "resource")

	b := a.must(200, "POST", bulk, `{"resources":[{"rname":"more","type":"A","rdata":"192.0.2.3"}],"change":[{"id":1500,"ttl":7},{"id":3002,"comment":"x"}],"delete":[3001,20]}`)
	b.want(t, "params.records", 3001.0)
	b.want(t, "params.added.0", 3003.0)
	a.do("POST", bulk, `{"resources":[{"rname":"ok","type":"A","rdata":"192.0.2.3"},{"rname":"h2500","type":"CNAME","rdata":"a"}],"delete":[40]}`).refused(t, 400, "resources[1].type: type CNAME must be alone")
	a.do("POST", bulk, `{"change":[{"id":2600,"rname":"h2","type":"CNAME","rdata":"a"}],"delete":[40,41]}`).refused(t, 400, "change[0].type: type CNAME must be alone")
	a.do("POST", bulk, `{"change":[{"id":4,"type":"CNAME","rdata":"a"}],"resources":[{"rname":"H2","type":"A","rdata":"192.0.2.1"}],"delete":[3]}`).refused(t, 400, "resources[0].type: type CNAME must be alone")
	a.do("POST", zone+"/import?add=true", "ok A 192.0.2.1\nh2 CNAME a\n", textFile...).refused(t, 400, "line 2: type CNAME must be alone")
	a.must(200, "POST", zone+"/import?add=true", "h2 A 10.0.0.2\nh2 A 192.0.2.1\n", textFile...).want(t, "params.records", 3002.0)

	all := a.must(200, "GET", zone+"/resources", "")
	for path, want := range map[string]any{
		"params.0.id": 0.0, "params.0.rname": "@", // NS
		"params.20.id": 21.0, "params.20.rname": "h19",
		"params.998.id": 999.0, "params.999.id": 1001.0,
		"params.1498.id": 1500.0, "params.1498.ttl": 7.0,
		"params.2007.rdata": "192.0.2.2",
		"params.2999.rname": "new", "params.2999.comment": "x",
		"params.3000.rname": "more", "params.3001.rdata": "192.0.2.1",
	} {
		all.want(t, path, want)
	}
	if export := a.must(200, "GET", zone+"/export", "").raw; strings.Count(export, "\tIN\tA\t") != 3001 {
		t.Errorf("%d addresses are exported", strings.Count(export, "\tIN\tA\t"))
	}
}
