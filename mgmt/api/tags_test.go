package api_test

import (
	"strings"
	"testing"
)

// The tag of a resource changes with that resource, and a change with it is refused only
// when it did.
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
	a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", first).refused(t, 412)
	a.do("DELETE", "/farms/shop", "", "If-Match", first).refused(t, 412)
	for _, tag := range []string{"abc", `"abc"`, `"`, `"a`, `"1-2-3"`, `"0.2"`, "W/" + now, ",", `"99999"`} {
		a.do("PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", tag).refused(t, 412)
	}
	a.must(200, "PUT", "/farms/shop", `{"contimeout":6}`, "If-Match", now)
	// Also what is shown besides the configuration changes the tag.
	before := a.must(200, "GET", "/farms/shop/services/web/backends", "").header.Get("ETag")
	a.engine.health[a.config().Farms[0].HTTP.Services[0].Backends[0].ID] = "down"
	if r := a.do("GET", "/farms/shop/services/web/backends", "", "If-None-Match", before); r.status != 200 {
		t.Errorf("a backend went down: %d", r.status)
	}
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
