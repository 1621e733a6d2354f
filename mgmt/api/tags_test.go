package api_test

import (
	"strings"
	"testing"
)

// The tag of a resource changes only with that resource, and so does the rejection of a
// change with it.
func TestTagsAreThoseOfResources(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.dns(1)
	first := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
	a.must(200, "PUT", "/farms/dns", `{"vport":"54"}`)
	read := a.do("GET", "/farms/shop", "", "If-None-Match", first)
	if read.status != 304 || read.raw != "" || read.header.Get("ETag") == "" || read.header.Get("Content-Type") != "" {
		t.Errorf("another farm was changed: %d %v %q", read.status, read.header, read.raw)
	}
	changed := a.must(200, "PUT", "/farms/shop", `{"contimeout":5}`, "If-Match", first)
	for _, tag := range []string{first, changed.header.Get("ETag")} {
		if r := a.do("GET", "/farms/shop", "", "If-None-Match", tag); r.status != 200 {
			t.Errorf("%s: %d", tag, r.status)
		}
	}
	now := a.must(200, "GET", "/farms/shop", "").header.Get("ETag")
	for tag, want := range map[string]int{now: 304, "W/" + now: 304, `"x", ` + now: 304, "*": 304, `"x"`: 200, "": 200, strings.Trim(now, `"`): 304, `"` + strings.Repeat("0", 16) + `"`: 200} {
		if r := a.do("GET", "/farms/shop", "", "If-None-Match", tag); r.status != want {
			t.Errorf("If-None-Match %s: %d, want %d", tag, r.status, want)
		}
	}
	for tag, want := range map[string]int{now: 200, strings.Trim(now, `"`): 200, `"x", ` + now: 200, "*": 200, "": 200, first: 412, "W/" + now: 412, `"x"`: 412, "x": 412} {
		if r := a.do("GET", "/farms/shop", "", "If-Match", tag); r.status != want {
			t.Errorf("read with If-Match %s: %d, want %d", tag, r.status, want)
		}
	}
	a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", first).refused(t, 412)
	a.do("DELETE", "/farms/shop", "", "If-Match", first).refused(t, 412)
	for _, tag := range []string{"abc", `"abc"`, `"`, `"a`, `"1-2-3"`, `"0.2"`, "W/" + now, ",", `"99999"`} {
		a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", tag).refused(t, 412)
	}
	a.must(200, "PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", now)
	// Live data changes the tag, too.
	before := a.must(200, "GET", "/farms/shop/services/web/backends", "").header.Get("ETag")
	a.engine.health[a.config().Farms[0].HTTP.Services[0].Backends[0].ID] = "down"
	if r := a.do("GET", "/farms/shop/services/web/backends", "", "If-None-Match", before); r.status != 200 {
		t.Errorf("a backend went down: %d", r.status)
	}
}

// Objects below a farm may be written with the farm's tag. It stays valid until the farm
// itself changes. Other changes, e.g. of health, do not affect it.
func TestTheTagOfAFarmGuardsAllBelowIt(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.rules()
	a.dns(1)
	tag := func() string { return a.must(200, "GET", "/farms/shop", "").header.Get("ETag") }
	first := tag()
	a.must(200, "PUT", "/farms/dns", `{"vport":"54"}`)
	a.engine.health[a.config().Farms[0].HTTP.Services[0].Backends[0].ID] = "down"
	a.must(200, "PUT", "/farms/shop/addheader/0", `{"header":"X-One: 1"}`, "If-Match", first)
	for _, write := range []struct{ method, path, body string }{
		{"DELETE", "/farms/shop/addheader/0", ""},
		{"PUT", web + "/backends/0", `{"weight":2}`},
		{"PUT", "/farms/shop/actions", `{"action":"stop"}`},
		{"POST", web + "/backends", `{"ip":"10.0.0.9","port":80}`},
		{"DELETE", "/farms/shop", ""},
	} {
		a.do(write.method, write.path, write.body, "If-Match", first).refused(t, 412)
		a.do(write.method, write.path+"?dry_run=true", write.body, "If-Match", first).refused(t, 412)
	}
	a.must(200, "PUT", web+"/backends/0", `{"weight":2}`, "If-Match", tag())
	revision, digest, _ := strings.Cut(strings.Trim(tag(), `"`), ".")
	for _, other := range []string{`"99999.` + digest[:4] + `"`, `"` + revision + "0." + digest[:4] + `"`, `"-1.a"`, `".a"`} {
		a.do("DELETE", web+"/backends/1", "", "If-Match", other).refused(t, 412)
	}
	old := tag()
	a.must(200, "DELETE", "/farms/shop", "")
	a.shop(2)
	a.do("DELETE", web+"/backends/1", "", "If-Match", old).refused(t, 412)
}

// The tag of a list covers its items, too.
func TestTheTagOfAListGuardsItsItems(t *testing.T) {
	a := newAppliance(t)
	a.must(200, "POST", "/monitoring/fg", `{"name":"one","command":"check_tcp -H HOST -p PORT"}`)
	list := a.must(200, "GET", "/monitoring/fg", "").header.Get("ETag")
	a.shop(1)
	a.must(200, "PUT", "/monitoring/fg/one", `{"interval":7}`, "If-Match", list)
	a.do("PUT", "/monitoring/fg/one", `{"interval":8}`, "If-Match", list).refused(t, 412)
}

func TestASecondStaticSessionIsAConflict(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.must(200, "PUT", web, `{"persistence":"COOKIE","sessionid":"id"}`)
	a.must(201, "POST", web+"/sessions", `{"id":0,"session":"one"}`)
	for _, id := range []string{"0", "1"} {
		a.do("POST", web+"/sessions", `{"id":`+id+`,"session":"one"}`).refused(t, 409, "backend 0 already")
	}
	for _, session := range []string{"a;b", ";"} {
		a.do("POST", web+"/sessions", `{"id":0,"session":"`+session+`"}`).refused(t, 400, "session")
	}
	a.must(200, "DELETE", web+"/sessions/one", "")
	a.must(201, "POST", web+"/sessions", `{"id":1,"session":"one"}`)
	for _, urlp := range []string{"^/a(?#comment)", "(?#c)"} {
		a.do("PUT", web, `{"urlp":"`+urlp+`"}`).refused(t, 400, "comments")
	}
}
