package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// rules adds a rule to every list of the shop and its service.
func (a *appliance) rules() {
	a.t.Helper()
	rules := farm.HeaderRules{
		AddRequest: []farm.HeaderAdd{{Header: "X-A: 1"}}, RemoveRequest: []farm.HeaderRemove{{Pattern: "^X-B"}}, ReplaceRequest: []farm.HeaderReplace{{Header: "^X-C$", Match: "a"}},
		AddResponse: []farm.HeaderAdd{{Header: "X-D: 1"}}, RemoveResponse: []farm.HeaderRemove{{Pattern: "^X-E"}}, ReplaceResponse: []farm.HeaderReplace{{Header: "^X-F$", Match: "a"}},
	}
	if _, err := a.applier.Change(context.Background(), apply.Author{Name: "root"}, "", 0, func(cfg *farm.Config) error {
		f := cfg.Farm("shop")
		f.HTTP.HeaderRules = rules
		s := f.Service("web")
		s.HeaderRules, s.Rewrites = rules, []farm.URLRewrite{{Pattern: "^/a", Replace: "/b"}}
		*f = f.Clone() // the lists are no longer shared
		return nil
	}); err != nil {
		a.t.Fatal(err)
	}
}

// The lists of both levels, each with two rules and their representation.
var ruleLists = []struct {
	path, shown   string
	first, second map[string]any
	moves         bool
}{
	{"/farms/shop/addheader", "params.addheader", map[string]any{"header": "X-A: 1"}, map[string]any{"header": "X-A: 2"}, false},
	{"/farms/shop/headremove", "params.headremove", map[string]any{"pattern": "^X-A"}, map[string]any{"pattern": "^X-B"}, false},
	{"/farms/shop/replacerequestheader", "params.replacerequestheader", replacement("a"), replacement("b"), true},
	{"/farms/shop/addresponseheader", "params.addresponseheader", map[string]any{"header": "X-A: 1"}, map[string]any{"header": "X-B: "}, false},
	{"/farms/shop/removeresponseheader", "params.removeresponseheader", map[string]any{"pattern": "^X-A"}, map[string]any{"pattern": "^X-B"}, false},
	{"/farms/shop/replaceresponseheader", "params.replaceresponseheader", replacement("a"), replacement("b"), true},
	{web + "/addrequestheader", "services.addrequestheader", map[string]any{"header": "X-A: 1"}, map[string]any{"header": "X-A: 2"}, false},
	{web + "/removerequestheader", "services.removerequestheader", map[string]any{"pattern": "^X-A"}, map[string]any{"pattern": "^X-B"}, false},
	{web + "/replacerequestheader", "services.replacerequestheader", replacement("a"), replacement("b"), true},
	{web + "/addresponseheader", "services.addresponseheader", map[string]any{"header": "X-A: 1"}, map[string]any{"header": "X-B: 2"}, false},
	{web + "/removeresponseheader", "services.removeresponseheader", map[string]any{"pattern": "^X-A"}, map[string]any{"pattern": "^X-B"}, false},
	{web + "/replaceresponseheader", "services.replaceresponseheader", replacement("a"), replacement("b"), true},
	{web + "/rewriteurl", "services.rewriteurl", map[string]any{"pattern": "^/a", "replace": "/b", "last": "true"}, map[string]any{"pattern": "^/b", "replace": "", "last": "false"}, true},
}

func replacement(match string) map[string]any {
	return map[string]any{"header": "^User-Agent$", "match": "^(" + match + ")", "replace": "$1"}
}

// shows verifies the rules of a list, in its own response and in that of its owner.
func (a *appliance) shows(path, shown string, rules ...map[string]any) {
	a.t.Helper()
	owner := path[:strings.LastIndex(path, "/")]
	for place, r := range map[string]reply{"params": a.must(200, "GET", path, ""), shown: a.must(200, "GET", owner, "")} {
		list, _ := r.at(place).([]any)
		if len(list) != len(rules) {
			a.t.Errorf("%s has %d rules, want %d\n%s", path, len(list), len(rules), r.raw)
			return
		}
		for i, rule := range rules {
			want := map[string]any{"id": i}
			for name, value := range rule {
				want[name] = value
			}
			if quoteAny(list[i]) != quoteAny(want) {
				a.t.Errorf("%s rule %d is %v, want %v", path, i, list[i], want)
			}
		}
	}
}

func TestRulesOfEveryListAreAddedChangedMovedAndDeleted(t *testing.T) {
	for _, l := range ruleLists {
		t.Run(l.path, func(t *testing.T) {
			a := newAppliance(t)
			a.shop(1)
			a.shows(l.path, l.shown)
			r := a.must(201, "POST", l.path, quoteAny(l.first))
			r.want(t, "params.id", 0)
			a.must(201, "POST", l.path, quoteAny(l.second)).want(t, "params.id", 1)
			a.shows(l.path, l.shown, l.first, l.second)
			a.do("POST", l.path, quoteAny(l.first)).refused(t, 400, "the same twice")
			a.do("PUT", l.path+"/1", quoteAny(l.first)).refused(t, 400, "the same twice")
			a.do("POST", l.path, `{"nonsense":"x"}`).refused(t, 400)
			if r := a.do("POST", l.path, `{}`); r.status != 400 || r.at("params.0.name") == nil {
				t.Errorf("help: %d %s", r.status, r.raw)
			}
			for _, id := range []string{"2", "-1", "00", "x", "18446744073709551616"} {
				a.do("PUT", l.path+"/"+id, quoteAny(l.first)).refused(t, 404, "does not exist")
				a.do("DELETE", l.path+"/"+id, "").refused(t, 404, "does not exist")
			}
			if move := l.path + "/1/actions"; l.moves {
				a.must(200, "POST", move, `{"position":0}`).want(t, "params.position", 0)
				a.shows(l.path, l.shown, l.second, l.first)
				a.do("POST", move, `{"position":2}`).refused(t, 400, "position", "0 to 1")
				a.do("POST", l.path+"/2/actions", `{"position":0}`).refused(t, 404)
				a.must(200, "POST", move, `{"position":"0"}`)
			} else if r := a.do("POST", move, `{"position":0}`); r.status != 404 && r.status != 405 {
				t.Errorf("a list without an order accepts a move: %d", r.status)
			}
			a.must(200, "DELETE", l.path+"/0", "").want(t, "success", "true")
			a.shows(l.path, l.shown, l.second) // the others move up
			a.must(200, "PUT", l.path+"/0", quoteAny(l.first))
			a.shows(l.path, l.shown, l.first)
			a.do("POST", strings.Replace(l.path, "shop", "none", 1), quoteAny(l.first)).refused(t, 404, "none")
		})
	}
}

func TestPartOfARuleIsChanged(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	a.must(201, "POST", web+"/rewriteurl", `{"pattern":"^/(a)","replace":"/$1"}`)
	a.must(200, "PUT", web+"/rewriteurl/0", `{"last":true}`).want(t, "params.last", "true")
	a.shows(web+"/rewriteurl", "services.rewriteurl", map[string]any{"pattern": "^/(a)", "replace": "/$1", "last": "true"})
	a.do("PUT", web+"/rewriteurl/0", `{"pattern":"^/a"}`).refused(t, 400, "$1 stands for a group")
	a.do("PUT", web+"/rewriteurl/0", `{"replace":"/x\r\ny"}`).refused(t, 400, "replace", "control character")
}

// Of two concurrent writers, one whose rule is gone changes nothing.
func TestARuleThatMovedIsNotChanged(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	path := "/farms/shop/addheader"
	tag := ""
	for i := range 3 {
		tag = a.must(201, "POST", path, fmt.Sprintf(`{"header":"X-%d: 1"}`, i)).header.Get("ETag")
	}
	a.must(200, "DELETE", path+"/0", "")
	a.do("DELETE", path+"/0", "", "If-Match", tag).refused(t, 412)
	a.shows(path, "params.addheader", map[string]any{"header": "X-1: 1"}, map[string]any{"header": "X-2: 1"})
}

// Clients send whole objects back. Rules sent as read must not count as a change, and a
// real change must not be ignored.
func TestRulesAreNotChangedWithTheirOwner(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for _, l := range ruleLists {
		owner, name := l.path[:strings.LastIndex(l.path, "/")], l.path[strings.LastIndex(l.path, "/")+1:]
		a.must(200, "PUT", owner, `{"`+name+`":[]}`)
		a.do("PUT", owner, `{"`+name+`":["x"]}`).refused(t, 400, name, "POST", l.path)
		a.do("PUT", owner, `{"`+name+`":null}`).refused(t, 400, name)
		a.must(201, "POST", l.path, quoteAny(l.first))
		a.do("PUT", owner, `{"`+name+`":[]}`).refused(t, 400, name, "DELETE")
	}
}

func TestHostileRulesAreRefused(t *testing.T) {
	a := newAppliance(t)
	a.shop(1)
	for body, text := range map[string]string{
		`{"header":"X-A: 1\r\nSet-Cookie: a=b"}`: "line feed", `{"header":"Content-Length: 0"}`: "frames the message", `{"header":"Transfer-Encoding: chunked"}`: "frames the message",
		`{"header":"Connection: X-Forwarded-For"}`: "two neighbours", `{"header":"Host: evil.example"}`: "rewritehost", `{"header":"X A: 1"}`: "field name", `{"header":["X-A: 1"]}`: "a list",
	} {
		for _, path := range []string{"/farms/shop/addheader", "/farms/shop/addresponseheader", web + "/addrequestheader"} {
			a.do("POST", path, body).refused(t, 400, "header", text)
		}
	}
	if rules := a.config().Farms[0].HTTP.HeaderRules; len(rules.AddRequest)+len(rules.AddResponse) != 0 {
		t.Errorf("kept: %+v", rules)
	}
}
