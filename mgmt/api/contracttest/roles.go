package contracttest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// visitor is the user who gets one role after another.
const (
	visitor    = "visitor"
	visitorKey = "visitorsKey0123456789"
)

// DriveAs performs every operation as a user with a role. Operations that the role does not
// allow must reject every request and change nothing. Allowed ones must not be rejected. may
// reports what the role allows. The user's group has all farms.
func DriveAs(t *testing.T, g *Target, d *Document, role string, may func(permission string) bool) {
	s := setUp(t, g, d)
	s.introduce(role)
	as := []string{"ZAPI_KEY", visitorKey}
	refused, taken := 0, 0
	for _, o := range d.Operations {
		needs := o.needs()
		if needs == "public" || strings.HasPrefix(o.Path, "/session") {
			continue // has its own credentials
		}
		c := Call{Method: o.Method, Path: unfilled.ReplaceAllString(s.at(o, "", ""), "none"), Body: s.typicalBody(o), Kind: s.typicalKind(o), Headers: as, Bare: true}
		if may(needs) {
			if s.allowed(o, c) {
				taken++
			}
			continue
		}
		refused++
		for _, call := range s.attempts(o, c) {
			if a, _ := s.try(o, call); a.Status != 403 {
				s.t.Errorf("%s: %s needs %q, and is answered %d: %s", role, call, needs, a.Status, short(a.Raw))
			}
		}
	}
	if refused == 0 && role != "administration" || taken == 0 {
		t.Errorf("%s: %d operations were refused, %d were not", role, refused, taken)
	}
	t.Logf("%s: %d operations were refused, %d tried and not", role, refused, taken)
}

// introduce creates the visitor, in a group with the role and all farms.
func (s *stage) introduce(role string) {
	s.t.Helper()
	s.Send(s.t, Call{Method: "DELETE", Path: "/rbac/groups/visitors"}) // with the previous role
	s.Send(s.t, Call{Method: "DELETE", Path: "/rbac/users/" + visitor})
	steps := []step{
		fields("POST", "/rbac/users", `{"name":"`+visitor+`","password":"secret-1"}`),
		fields("PUT", "/rbac/users/"+visitor, `{"zapikey":"`+visitorKey+`","zapi_permissions":"true"}`),
		fields("POST", "/rbac/groups", `{"name":"visitors"}`),
		fields("POST", "/rbac/groups/visitors/users", `{"name":"`+visitor+`"}`),
		fields("PUT", "/rbac/groups/visitors", fmt.Sprintf(`{"role":%q,"all_farms":true}`, role)),
	}
	for _, farm := range s.farms() {
		s.Send(s.t, Call{Method: "DELETE", Path: "/rbac/groups/team/farms/" + farm})
		steps = append(steps, fields("POST", "/rbac/groups/visitors/farms", `{"name":"`+farm+`"}`))
	}
	for _, one := range steps {
		if a := s.Send(s.t, Call{Method: one.method, Path: one.path, Body: one.body, Kind: one.kind}); a.Status >= 300 {
			s.t.Fatalf("%s %s %s: %d %s", one.method, one.path, one.body, a.Status, a.Raw)
		}
	}
}

// farms returns the names of all farms.
func (s *stage) farms() (names []string) {
	s.t.Helper()
	var all struct {
		Params []struct {
			Name string `json:"farmname"`
		}
	}
	if err := json.Unmarshal([]byte(s.Send(s.t, Call{Method: "GET", Path: "/farms"}).Raw), &all); err != nil {
		s.t.Fatal(err)
	}
	for _, one := range all.Params {
		names = append(names, one.Name)
	}
	return names
}

// allowed performs an allowed operation: a read or a dry run. It reports whether that is
// possible.
func (s *stage) allowed(o *Operation, c Call) bool {
	s.t.Helper()
	switch {
	case o.streams():
		return false // each would wait for events that never come
	case o.Method != "GET" && o.query("dry_run"):
		c.Path += "?dry_run=true"
	case o.Method != "GET":
		return false
	}
	if a, _ := s.try(o, c); a.Status == 403 || a.Status == 401 {
		s.t.Errorf("%s needs %q, which the role has, and is answered %d: %s", c, o.needs(), a.Status, short(a.Raw))
	}
	return true
}

// attempts returns ways to attempt a forbidden operation: normally, with invalid data, with
// missing objects, as a dry run, and with conditions.
func (s *stage) attempts(o *Operation, c Call) []Call {
	with := func(change func(*Call)) Call {
		other := c
		change(&other)
		return other
	}
	out := []Call{c}
	if o.Method != "GET" && len(o.content()) > 0 {
		out = append(out, with(func(c *Call) { c.Body = "{}" }), with(func(c *Call) { c.Body = `{"nonsense":1}` }), with(func(c *Call) { c.Body = "{" }))
	}
	for _, p := range o.parameters("path") {
		out = append(out, with(func(c *Call) { c.Path = unfilled.ReplaceAllString(s.at(o, text(p["name"]), "none"), "none") }))
	}
	if o.query("dry_run") {
		out = append(out, with(func(c *Call) { c.Path += "?dry_run=true" }))
	}
	out = append(out, with(func(c *Call) { c.Path += "?nonsense=1" }))
	if o.changes() {
		out = append(out, with(func(c *Call) { c.Headers = slices.Concat(c.Headers, []string{"If-Match", `"99999"`}) }))
	}
	return out
}

// unfilled matches path parameters without a value in the fixture.
var unfilled = regexp.MustCompile(`\{[a-z0-9_]+\}`)

var needed = regexp.MustCompile(`Requires the permission "([^"]*)"`)

// needs returns the documented permission of an operation.
func (o *Operation) needs() string {
	if m := needed.FindStringSubmatch(text(o.node["description"])); m != nil {
		return m[1]
	}
	return ""
}
