package api_test

import (
	"fmt"
	"strings"
	"testing"
)

const bulk = zone + "/resources/bulk"

func TestManyRecordsAreChangedAtOnce(t *testing.T) {
	a := zoned(t)
	first := a.must(200, "GET", "/history", "").at("params.0.number").(float64)
	a.must(200, "POST", bulk+"?dry_run=true", `{"resources":[{"rname":"www","type":"A","rdata":"192.0.2.1"}]}`).want(t, "params.dry_run", "true")
	r := a.must(200, "POST", bulk, `{"resources":[{"rname":"www","type":"A","rdata":"192.0.2.1","ttl":60},{"rname":"@","type":"ALIAS","rdata":"www.example.net."},{"rname":"shop","type":"DYNA","rdata":"shop"}],
		"change":[{"id":1,"rdata":"192.0.2.53","comment":"ours"}]}`)
	r.want(t, "params.records", 5.0)
	r.want(t, "params.added.2", 4.0)
	r.want(t, "params.changed", 1.0)
	z := a.must(200, "GET", zone, "")
	z.want(t, "params.resources.1.rdata", "192.0.2.53")
	z.want(t, "params.resources.1.comment", "ours")
	z.want(t, "params.resources.2.ttl", 60.0)
	z.want(t, "params.resources.3.rdata", "alias-www-example-net")

	// Deletions free names for additions in the same call.
	r = a.must(200, "POST", bulk, `{"delete":[2,4],"resources":[{"rname":"www","type":"CNAME","rdata":"ns1"}],"change":[{"id":3,"ttl":5}]}`)
	r.want(t, "params.added.0", 5.0)
	r.want(t, "params.deleted", 2.0)
	z = a.must(200, "GET", zone, "")
	z.want(t, "params.resources.2.ttl", 5.0)
	z.want(t, "params.resources.3.id", 5.0)
	h := a.must(200, "GET", "/history", "")
	h.want(t, "params.0.number", first+2)
	h.want(t, "params.0.comment", "change records of zone example.com of farm names: 1 added, 1 changed, 2 deleted")
}

func TestOneWrongRecordRefusesAllOfThem(t *testing.T) {
	a := zoned(t)
	before := a.must(200, "GET", zone, "").raw
	www := `{"rname":"www","type":"A","rdata":"192.0.2.1"}`
	for body, want := range map[string]string{
		`{"resources":[` + www + `,{"rname":"a","type":"A","rdata":"192.0.2.300"}]}`:         `resources[1].rdata: rdata must be an IPv4 address`,
		`{"resources":[` + www + `,` + www + `,{"rname":"WWW","type":"CNAME","rdata":"b"}]}`: `resources[2].type: type CNAME must be alone`,
		`{"resources":[{"rname":"a","type":"DYNA","rdata":"none"}]}`:                         `resources[0].rdata: there is no service`,
		`{"resources":[{"rname":"a","type":"ALIAS","rdata":"192.0.2.1"}]}`:                   `resources[0].rdata: rdata must be a host name`,
		`{"resources":[{"rname":"a","type":"A"},{"rname":"a","typ":"A"}]}`:                   `resources[0].rdata: rdata is required`,
		`{"resources":[` + www + `],"change":[{"id":1,"ttl":"no"}],"delete":[-1,7]}`:         `change[0].ttl: ttl must be`,
		`{"delete":[7,1,1],"change":[{"id":0,"ttl":5},{"id":0,"ttl":6}]}`:                    `change[1].id: the resource 0 is given twice, in change[0] too; delete[0].id: the resource 7 does not exist in the zone example.com; delete[2].id: the resource 1 is given twice, in delete[1] too; nothing was changed`,
		`{"change":[{"id":0,"type":"CNAME","rname":"ns1"}]}`:                                 `resource 1.type: type CNAME must be alone`,
		`{"change":[{"id":0}]}`:             `change[0]: nothing of resource 0 is to be different`,
		`{"change":[{"ttl":5}]}`:            `change[0].id: id must be the number`,
		`{"change":[{"id":0,"id":1}]}`:      `given twice`,
		`{"delete":["1"]}`:                  `delete[0].id: id must be the number`,
		`{"delete":[1],"delete":[1]}`:       `given twice`,
		`{"remove":[1]}`:                    `unknown field remove`,
		`{"resources":["www"]}`:             `resources[0]: the body must be a JSON object`,
		`{"resources":[{"rname":{"a":1}}]}`: `resources[0].`,
	} {
		a.do("POST", bulk, body).refused(t, 400, want)
	}
	for _, empty := range []string{"", "{}", `{"delete":[]}`} {
		a.do("POST", bulk, empty).want(t, "params.0.name", "resources")
	}
	a.do("POST", bulk, `{"delete":[`+strings.Repeat("1,", 10_000)+`1]}`).refused(t, 400, "10001 resources are too many")
	a.do("POST", "/farms/names/zones/example.org/resources/bulk", `{"delete":[1]}`).refused(t, 404, "example.org")
	a.do("POST", bulk, `{"delete":[1]}`, "If-Match", `"1"`).refused(t, 412)
	if after := a.must(200, "GET", zone, "").raw; after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestTenThousandRecordsAreAddedAndDeletedAtOnce(t *testing.T) {
	a := zoned(t)
	var add, ids []string
	for i := range 10_000 {
		add = append(add, fmt.Sprintf(`{"rname":"host-%d","type":"A","rdata":"10.0.%d.%d","ttl":60,"comment":"%s"}`, i, i>>8, i&255, strings.Repeat("x", 200)))
		ids = append(ids, fmt.Sprint(i+2))
	}
	a.must(200, "POST", bulk, `{"resources":[`+strings.Join(add, ",")+`]}`).want(t, "params.records", 10_002.0)
	a.must(200, "POST", bulk, `{"delete":[`+strings.Join(ids, ",")+`]}`).want(t, "params.records", 2.0)
}
