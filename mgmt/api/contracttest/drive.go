package contracttest

import (
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Drive sends every kind of request to every operation of the document, and reports each
// deviation.
func Drive(t *testing.T, g *Target, d *Document) {
	s := setUp(t, g, d)
	for _, o := range d.Operations {
		t.Run(strings.ReplaceAll(strings.TrimPrefix(o.Path, "/"), "/", ".")+"."+o.Method, func(t *testing.T) {
			whole := s.t
			s.t = t
			defer func() { s.t = whole }()
			s.absent = s.fails(o, Call{Method: o.Method, Path: s.at(o, "", ""), Body: s.typicalBody(o), Kind: s.typicalKind(o)}, 404)
			s.bodies(o)
			s.forms(o)
			s.paths(o)
			s.queries(o)
			s.headers(o)
			s.strangers(o)
			s.good(o)
		})
	}
	for _, o := range d.Operations {
		if s.ok[o] == 0 && !mayFail[o.Path] {
			t.Errorf("%s: no request was answered well", o)
		}
	}
}

// mayFail lists operations that need more than the fixture provides: a file to reload, a
// directory, cloud or provider, a second factor, a login, a licence, or an engine that
// responds.
var mayFail = map[string]bool{
	"/config/reload": true, "/cloud/credentials": true, "/rbac/ldap": true, "/rbac/ldap/actions": true, "/rbac/users/{user}/totp": true, "/rbac/sessions/{session}": true,
	"/session/confirm": true, "/session/oidc": true, "/session/oidc/callback": true, "/system/users/totp": true, "/system/users/totp/actions": true,
	"/transactions": true, "/history/{revision}/confirm": true, "/pending": true, "/history/tags/{tag}": true,
	"/system/backup/{backup}": true, "/system/backup/{backup}/actions": true, "/system/backup/{backup}/info": true,
	"/farms/{farm}/questions": true, "/certificates/activation": true, "/certificates/activation/info": true, "/system/notifications/alerts/{alert}/actions": true, "/system/notifications/methods/webhooks/{webhook}/actions": true,
}

// try sends a request, checks the response, and checks that a rejected request changed
// nothing. It reports whether the request was accepted.
func (s *stage) try(o *Operation, c Call) (Answer, bool) {
	s.t.Helper()
	before := s.State()
	a := s.Send(s.t, c)
	s.doc.check(s.t, o, c, a)
	if a.Status < 300 {
		s.ok[o]++
		return a, true
	}
	if after := s.State(); after != before {
		s.t.Errorf("%s: answered %d, and changed something", c, a.Status)
	}
	return a, false
}

// taken is try for a request that may be accepted. It reverts the effect.
func (s *stage) taken(o *Operation, c Call) (Answer, bool) {
	s.t.Helper()
	a, is := s.try(o, c)
	if is && o.changes() {
		s.restore(o)
	}
	return a, is
}

// refused is try for a request that must be rejected.
func (s *stage) refused(o *Operation, c Call, statuses ...int) {
	s.t.Helper()
	a, is := s.taken(o, c)
	if is || len(statuses) > 0 && !slices.Contains(statuses, a.Status) && (!s.absent || a.Status != 404) {
		s.t.Errorf("%s: answered %d, want one of %v: %s", c, a.Status, statuses, short(a.Raw))
	}
}

// bodies tries all values in all fields.
func (s *stage) bodies(o *Operation) {
	schema, pointer := s.doc.jsonBody(o)
	if schema == nil {
		return
	}
	allowed, err := s.doc.schema(pointer)
	if err != nil {
		s.t.Fatal(err)
	}
	at := s.at(o, "", "")
	for _, variant := range s.doc.variants(schema) {
		base := s.required(variant)
		for name, of := range object(variant["properties"]) {
			if object(of)["readOnly"] == true {
				continue
			}
			s.field(o, at, base, name, object(of), func(body string) bool { return s.doc.allows(allowed, schema, body) })
			if required := list(variant["required"]); slices.Contains(required, any(name)) {
				without := s.required(variant)
				delete(without, name)
				without[other(variant, name)] = s.typical(other(variant, name), object(object(variant["properties"])[other(variant, name)]))
				s.refused(o, Call{Method: o.Method, Path: at, Kind: jsonKind, Body: body(without, "", "")})
			}
		}
		s.refused(o, Call{Method: o.Method, Path: at, Kind: jsonKind, Body: body(base, "nonsense", "1")}, 400)
	}
}

// field tries all values in one field. Creations are dry runs unless the value is valid, as
// each would have to be deleted again.
func (s *stage) field(o *Operation, at string, base map[string]value, name string, of map[string]any, allowed func(string) bool) {
	right := s.doc.right(of)
	changed := false
	for _, v := range s.doc.forField(of) {
		if s.guesses(o, name, v) {
			continue
		}
		c := Call{Method: o.Method, Path: at, Kind: jsonKind, Body: body(base, name, v)}
		if o.Method == "POST" && o.query("dry_run") && !slices.Contains(right, v) {
			c.Path += "?dry_run=true"
		}
		_, is := s.try(o, c)
		if is && !allowed(c.Body) {
			s.t.Errorf("%s: taken, and the document does not allow it", c)
		}
		if changed = changed || is; is && (o.Method == "POST" || strings.HasPrefix(name, "new")) {
			s.restore(o)
			changed = false
		}
	}
	if changed && o.changes() {
		s.restore(o)
	}
}

// guesses reports whether a value would lock out the test, by a wrong password too many or
// by removing root's own permission.
func (s *stage) guesses(o *Operation, name string, v value) bool {
	if o.Path != "/system/users" {
		return false
	}
	return (name == "password" || name == "newpassword") && v != "null" && v != `""` && v != "[]" || name == "zapi_permissions" && v == `"false"`
}

// required returns the required fields of a body.
func (s *stage) required(variant map[string]any) map[string]value {
	out := map[string]value{}
	for _, name := range list(variant["required"]) {
		out[text(name)] = s.typical(text(name), object(object(variant["properties"])[text(name)]))
	}
	return out
}

// other returns a field of an object other than name, "" if there is none.
func other(variant map[string]any, name string) string {
	for _, one := range list(variant["required"]) {
		if one != name {
			return text(one)
		}
	}
	for _, one := range slices.Sorted(maps.Keys(object(variant["properties"]))) {
		if one != name {
			return one
		}
	}
	return "nonsense"
}

// forms sends broken bodies and bodies of another type.
func (s *stage) forms(o *Operation) {
	at := s.at(o, "", "")
	if len(o.content()) == 0 {
		return
	}
	kinds := o.content()
	send := func(kind, body string, statuses ...int) {
		s.t.Helper()
		s.refused(o, Call{Method: o.Method, Path: at, Kind: kind, Body: body}, statuses...)
	}
	send("application/xml", "<a/>", 415)
	send("multipart/form-data", "a", 415)
	send("application/json; charset=utf-16", `{"a":1}`, 415)
	if kinds[jsonKind] == nil {
		kind := firstKind(kinds)
		send(kind, "nonsense", 400)
		send(kind, strings.Repeat("a", 9<<20), 400, 413)
		return
	}
	if _, fields := s.doc.jsonBody(o); fields == "" {
		return
	}
	for _, broken := range []string{"{", `{"a"`, `{"a":1,}`, `{"a":1}{"b":2}`, "[1]", `"a"`, "1", "null", "\xff\xfe{}", `{"a":1,"a":2}`, "nonsense", strings.Repeat(`{"a":`, 5000), strings.Repeat("[", 100000)} {
		send(jsonKind, broken, 400)
	}
	for name := range object(s.doc.variants(s.firstBody(o))[0]["properties"]) {
		q := string(quoted(name))
		send(jsonKind, "{"+q+":1,"+q+":1}", 400)
		break
	}
	send(jsonKind, `{"a":"`+strings.Repeat("a", 2<<20)+`"}`, 400, 413)
	if len(list(s.doc.variants(s.firstBody(o))[0]["required"])) > 0 {
		a, _ := s.taken(o, Call{Method: o.Method, Path: at, Kind: jsonKind, Body: "{}"})
		if !s.absent && o.Path != "/transactions" && (a.Status != 400 || !strings.Contains(string(a.Raw), "No parameter has been sent")) {
			s.t.Errorf("%s: an empty body is answered %d without help: %s", o, a.Status, short(a.Raw))
		}
	}
}

func (s *stage) firstBody(o *Operation) map[string]any { schema, _ := s.doc.jsonBody(o); return schema }

func firstKind(kinds map[string]any) string {
	for kind := range kinds {
		return kind
	}
	return ""
}

// paths tries hostile names in the path.
func (s *stage) paths(o *Operation) {
	for _, p := range o.parameters("path") {
		for _, name := range []string{"none", "0x", "-rf", "../x", "..", "$(id)", "a\nb", "a b", "ѕhop", "shop\x00", "%2e%2e", strings.Repeat("a", 5000), "-1", "99999999999999999999", "0", "*", "shop/../dns"} {
			if o.streams() && name == "0" {
				continue
			}
			c := Call{Method: o.Method, Path: s.at(o, text(p["name"]), name), Body: s.typicalBody(o), Kind: s.typicalKind(o)}
			a, is := s.taken(o, c)
			if is && a.Status < 300 && slices.Contains([]string{"farm", "service", "user", "group", "role", "key", "backend"}, text(p["name"])) && name != "0" {
				s.t.Errorf("%s: there is no such %s, and it was answered %d", c, text(p["name"]), a.Status)
			}
		}
	}
}

// queries tries all values in query parameters.
func (s *stage) queries(o *Operation) {
	at := s.at(o, "", "")
	body, kind := s.typicalBody(o), s.typicalKind(o)
	for _, p := range o.parameters("query") {
		if o.streams() {
			continue // each would wait for events that never come
		}
		name := text(p["name"])
		for _, v := range []string{"", "x", "-1", "0", "true", "TRUE", "1e9", "99999999999999999999", "../x", "$(id)", "a\nb", "ѕhop", strings.Repeat("9", 3000)} {
			s.taken(o, Call{Method: o.Method, Path: at + "?" + url.Values{name: {v}}.Encode(), Body: body, Kind: kind})
		}
		s.refused(o, Call{Method: o.Method, Path: at + "?" + name + "=1&" + name + "=2", Body: body, Kind: kind}, 400)
	}
	if strings.HasPrefix(o.Path, "/session") {
		return
	}
	s.refused(o, Call{Method: o.Method, Path: at + "?nonsense=1", Body: body, Kind: kind}, 400)
	s.refused(o, Call{Method: o.Method, Path: at + "?a=%zz", Body: body, Kind: kind}, 400)
}

// headers sends valid and invalid headers of changes, and an unknown one.
func (s *stage) headers(o *Operation) {
	at := s.at(o, "", "")
	call := func(headers ...string) Call {
		return Call{Method: o.Method, Path: at, Body: s.typicalBody(o), Kind: s.typicalKind(o), Headers: headers}
	}
	if !o.changes() {
		return
	}
	for _, wrong := range []string{`"999999"`, "nonsense", `"-1"`, `W/"1"`, `"1`, "1e3", strings.Repeat("9", 300)} {
		a, is := s.try(o, call("If-Match", wrong))
		if is {
			s.restore(o)
		}
		tag := wrong == `"999999"` || strings.HasPrefix(wrong, "W/") // valid, but does not match
		if is || a.Status != 412 && (a.Status != 400 || tag) && !s.fails(o, call(), a.Status) {
			s.t.Errorf("%s with If-Match %s: answered %d, want 412: %s", o, wrong, a.Status, short(a.Raw))
		}
	}
	s.refused(o, call("Idempotency-Key", strings.Repeat("a", 300)), 400)
	if o.Method != "DELETE" && len(o.content()) > 0 {
		s.refused(o, call("Content-Encoding", "gzip"), 400, 415)
	}
}

// fails reports whether a call is rejected with that status anyway. Conditions are
// irrelevant then (RFC 9110 §13.2.1).
func (s *stage) fails(o *Operation, c Call, status int) bool {
	a, is := s.taken(o, c)
	return !is && a.Status == status
}

// strangers sends requests without a key and with unknown methods.
func (s *stage) strangers(o *Operation) {
	at := s.at(o, "", "")
	if strings.HasPrefix(o.Path, "/session") {
		return // has its own credentials
	}
	s.refused(o, Call{Method: o.Method, Path: at, Body: s.typicalBody(o), Kind: s.typicalKind(o), Bare: true}, 401)
	if s.State() == "" {
		s.t.Fatal("the state cannot be read")
	}
	if o.Method == "GET" && !o.streams() {
		a := s.Send(s.t, Call{Method: "HEAD", Path: at})
		if b, _ := s.try(o, Call{Method: "GET", Path: at}); a.Status != b.Status || len(a.Raw) > 0 {
			s.t.Errorf("%s: HEAD is answered %d, GET %d", at, a.Status, b.Status)
		}
	}
}

// good sends valid requests, and finally one that performs the operation.
func (s *stage) good(o *Operation) {
	at := s.at(o, "", "")
	c := Call{Method: o.Method, Path: at, Body: s.typicalBody(o), Kind: s.typicalKind(o)}
	if o.query("dry_run") {
		before := s.State()
		tried := c
		tried.Path += "?dry_run=true"
		if s.try(o, tried); s.State() != before {
			s.t.Errorf("%s: a trial changed something", tried)
		}
	}
	if o.Path == "/session" {
		s.session(o)
		return
	}
	s.taken(o, c)
	if o.changes() {
		c.Headers = []string{"Idempotency-Key", "drive " + o.Method + at}
		s.taken(o, c)
	}
}

// session logs in or out.
func (s *stage) session(o *Operation) {
	in := Call{Method: "POST", Path: "/session", Bare: true, Headers: []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("root:"+s.Password))}}
	if o.Method == "POST" {
		s.try(o, in)
		return
	}
	cookie, _, _ := strings.Cut(s.Send(s.t, in).Header.Get("Set-Cookie"), ";")
	s.try(o, Call{Method: "DELETE", Path: "/session", Bare: true, Headers: []string{"Cookie", cookie}})
}

// typicalBody returns a valid body.
func (s *stage) typicalBody(o *Operation) string {
	if schema, _ := s.doc.jsonBody(o); schema != nil {
		if known, is := goodBodies[o.Method+" "+o.Path]; is {
			return known
		}
		if o.Path == "/certificates/pkcs12" {
			return body(map[string]value{"name": `"pkcs12"`, "pkcs12": quoted(base64.StdEncoding.EncodeToString([]byte(s.Files["pkcs12"])))}, "", "")
		}
		if o.Path == "/certificates/pem" {
			return body(map[string]value{"name": `"parts"`, "ca": quoted(s.Files["chain"]), "key": quoted(s.Files["key"])}, "", "")
		}
		variant := s.doc.variants(schema)[0]
		of := s.required(variant)
		if len(of) == 0 {
			name := other(variant, "")
			of[name] = s.typical(name, object(object(variant["properties"])[name]))
		}
		return body(of, "", "")
	}
	switch {
	case len(o.content()) == 0:
		return ""
	case strings.HasPrefix(o.Path, "/config"):
		return `{"farms":[]}`
	case o.content()[zoneKind] != nil:
		return "@ NS ns1\nns1 A 192.0.2.53\n"
	case o.content()[mmdbKind] != nil:
		return s.Files["geoip"]
	case strings.HasSuffix(o.Path, "/crl"):
		return s.Files["crl"]
	case strings.Contains(o.Path, "{authority}"):
		return s.Files["authority"]
	}
	return s.Files["certificate"]
}

// goodBodies holds bodies that cannot be derived from the schema alone.
var goodBodies = map[string]string{
	"POST /system/https/certificate":                 `{"certificate":"shop.pem"}`,
	"POST /system/users":                             `{"zapi_permissions":"true"}`,
	"POST /rbac/groups":                              `{"name":"others"}`,
	"POST /rbac/groups/{group}/users":                `{"name":"bob"}`,
	"POST /rbac/groups/{group}/farms":                `{"name":"dns"}`,
	"POST /rbac/users":                               `{"name":"eve","password":"a good passw0rd"}`,
	"POST /rbac/roles":                               `{"name":"readers"}`,
	"POST /farms/{farm}/services":                    `{"id":"fresh"}`,
	"POST /farms/{farm}/services/{service}/sessions": `{"id":0,"session":"192.0.2.9"}`,
	"POST /farms/{farm}/sessions":                    `{"id":0,"session":"192.0.2.9"}`,
	"POST /farms/{farm}/zones":                       `{"id":"example.org"}`,
	"POST /farms/{farm}/zones/{zone}/resources":      `{"rname":"www","type":"A","rdata":"192.0.2.1"}`,
	"POST /farms/{farm}/zones/{zone}/resources/bulk": `{"resources":[{"rname":"www","type":"A","rdata":"192.0.2.1"}],"change":[{"id":1,"rdata":"192.0.2.53"}],"delete":[0]}`,
	"POST /farms/{farm}/explain":                     `{"url":"/"}`,
	"POST /rehearsals":                               `{"backends":["shop/web/0"]}`,
	"POST /certificates/{certificate}":               ``,
	"POST /farms/{farm}/addheader":                   `{"header":"X-Fresh: 1"}`,
	"POST /system/notifications/methods/webhooks":    `{"name":"spare","url":"https://hooks.example.com/in","secret":"correct horse battery staple"}`,
	"PUT /certificates/letsencrypt/config":           `{"email":"ops@example.com"}`,
	"PUT /certificates/letsencryptz/config":          `{"email":"ops@example.com"}`,
	"POST /certificates/letsencrypt":                 `{"domains":["www.example.com"]}`,
	"POST /certificates/letsencryptz":                `{"domains":["www.example.com"]}`,
	"POST /certificates":                             `{"name":"fresh","fqdn":"www.example.com","country":"DE","state":"Bavaria","locality":"Munich","organization":"Example","division":"Operations","mail":"ops@example.com"}`,
}

func (s *stage) typicalKind(o *Operation) string {
	switch {
	case len(o.content()) == 0:
		return ""
	case o.content()[jsonKind] != nil:
		return jsonKind
	case o.content()[zoneKind] != nil:
		return zoneKind
	case o.content()[mmdbKind] != nil:
		return mmdbKind
	}
	return pemKind
}
