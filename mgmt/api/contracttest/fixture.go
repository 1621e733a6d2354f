package contracttest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const (
	jsonKind = "application/json"
	pemKind  = "application/x-pem-file"
	zoneKind = "text/dns"
	mmdbKind = "application/vnd.maxmind.maxmind-db"
)

// step is a call that creates something on the appliance, which may exist already.
type step struct{ method, path, body, kind string }

// fields returns a step whose body is an object.
func fields(method, path, body string) step { return step{method, path, body, jsonKind} }

const (
	addRule     = `{"header":"X-A: 1"}`
	removeRule  = `{"pattern":"^X-B"}`
	replaceRule = `{"header":"^X-C$","match":"a","replace":"b"}`
	rewriteRule = `{"pattern":"^/a","replace":"/b"}`
)

// configured returns the steps that create the configuration.
func (g *Target) configured() []step {
	const web = "/farms/shop/services/web"
	vip := `"vip":"` + g.VIP + `",`
	return []step{
		fields("POST", "/farms", `{"farmname":"shop","profile":"http",`+vip+`"vport":18080}`),
		fields("POST", "/farms/shop/services", `{"id":"web","persistence":"IP"}`),
		fields("POST", "/farms/shop/services", `{"id":"api","urlp":"^/api","farmguardian":"check_tcp"}`),
		fields("POST", web+"/backends", `{"ip":"192.0.2.81","port":8080}`),
		fields("POST", web+"/backends", `{"ip":"192.0.2.82","port":8080}`),
		fields("POST", web+"/sessions", `{"id":0,"session":"192.0.2.1"}`),
		fields("POST", "/farms", `{"farmname":"dns","profile":"l4xnat",`+vip+`"vport":"15353","datapath":"userspace","persistence":"srcip"}`),
		fields("POST", "/farms/dns/backends", `{"ip":"192.0.2.81","port":53}`),
		fields("POST", "/farms/dns/backends", `{"ip":"192.0.2.82","port":53}`),
		fields("POST", "/farms/dns/sessions", `{"id":0,"session":"192.0.2.1"}`),
		fields("POST", "/farms", `{"farmname":"tls","profile":"http",`+vip+`"vport":18443,"listener":"https"}`),
		fields("POST", "/farms", `{"farmname":"asked","profile":"l4xnat",`+vip+`"vport":"15354","datapath":"userspace"}`),
		fields("POST", "/farms", `{"farmname":"names","profile":"gslb",`+vip+`"vport":15300}`),
		fields("POST", "/farms/names/services", `{"id":"shop","algorithm":"prio"}`),
		fields("POST", "/farms/names/services/shop/backends", `{"ip":"192.0.2.81"}`),
		fields("POST", "/farms/names/zones", `{"id":"example.com","dnssec":"ed25519"}`),
		fields("POST", "/farms/names/zones", `{"id":"rolled.example","dnssec":"ed25519"}`),
		fields("POST", "/farms/names/zones/rolled.example/keys", ""),
		fields("POST", "/farms/tls/certificates", `{"file":"shop.pem"}`),
		fields("POST", "/farms/shop/addheader", addRule), fields("POST", web+"/addrequestheader", addRule),
		fields("POST", "/farms/shop/headremove", removeRule), fields("POST", web+"/removerequestheader", removeRule),
		fields("POST", "/farms/shop/addresponseheader", addRule), fields("POST", web+"/addresponseheader", addRule),
		fields("POST", "/farms/shop/removeresponseheader", removeRule), fields("POST", web+"/removeresponseheader", removeRule),
		fields("POST", "/farms/shop/replacerequestheader", replaceRule), fields("POST", web+"/replacerequestheader", replaceRule),
		fields("POST", "/farms/shop/replaceresponseheader", replaceRule), fields("POST", web+"/replaceresponseheader", replaceRule),
		fields("POST", web+"/rewriteurl", rewriteRule),
	}
}

// others returns the steps outside of the configuration, which no rollback restores.
func (g *Target) others() []step {
	return []step{
		{"POST", "/certificates/shop.pem", g.Files["certificate"], pemKind},
		{"PUT", "/certificates/shop.pem", g.Files["renewed"], pemKind}, // leaves a previous certificate to restore
		{"PUT", "/certificates/shop.pem", g.Files["certificate"], pemKind},
		{"POST", "/certificates/spare.pem", g.Files["certificate"], pemKind},
		{"POST", "/certificates/ca/clients", g.Files["authority"], pemKind},
		{"PUT", "/system/geoip", g.Files["geoip"], mmdbKind},
		fields("POST", "/rbac/users", `{"name":"ann","password":"secret-1"}`),
		fields("POST", "/rbac/users", `{"name":"bob","password":"secret-1"}`),
		fields("POST", "/rbac/roles", `{"name":"ops","copy_from":"management"}`),
		fields("POST", "/rbac/roles", `{"name":"spare"}`),
		fields("POST", "/rbac/groups", `{"name":"team"}`),
		fields("PUT", "/rbac/groups/team", `{"role":"ops"}`),
		fields("POST", "/rbac/groups/team/users", `{"name":"ann"}`),
		fields("POST", "/rbac/groups/team/farms", `{"name":"shop"}`),
		fields("POST", "/keys", `{"comment":"spare"}`),
		fields("POST", "/system/notifications/methods/webhooks", `{"name":"ops","url":"http://127.0.0.1:1/","secret":"correct horse battery staple"}`),
	}
}

// stage is an appliance with the objects that paths refer to.
type stage struct {
	*Target
	t        testing.TB
	doc      *Document
	document string // the initial configuration
	revision string // its revision
	key      string // number of a key that may be deleted
	active   string // tag of the key that signs example.com
	next     string // tag of the next signing key of rolled.example
	ok       map[*Operation]int
	absent   bool // the operation's object does not exist
}

// setUp creates everything on the appliance.
func setUp(t testing.TB, g *Target, d *Document) *stage {
	t.Helper()
	s := &stage{Target: g, t: t, doc: d, ok: map[*Operation]int{}}
	s.beside()
	for _, one := range g.configured() {
		if a := g.Send(t, Call{Method: one.method, Path: one.path, Body: one.body, Kind: one.kind}); a.Status != 201 {
			t.Fatalf("%s %s %s: %d %s", one.method, one.path, one.body, a.Status, a.Raw)
		}
	}
	s.beside() // objects that refer to farms
	s.Send(t, Call{Method: "POST", Path: "/monitoring/fg", Body: `{"name":"alive","command":"check_tcp -H HOST -p PORT"}`, Kind: jsonKind})
	s.Send(t, Call{Method: "POST", Path: "/farms/asked/fg", Body: `{"name":"check_tcp"}`, Kind: jsonKind})
	for _, of := range []string{"backends/10.0.0.12", "interfaces/eth9"} {
		s.Send(t, Call{Method: "PUT", Path: "/aliases/" + of, Body: `{"alias":"known"}`, Kind: jsonKind})
	}
	s.active, s.next = s.keyOf("example.com", "active"), s.keyOf("rolled.example", "published")
	s.document = string(s.Send(t, Call{Method: "GET", Path: "/config?format=json"}).Raw)
	s.revision = revisionOf(s.Send(t, Call{Method: "GET", Path: "/farms"}))
	return s
}

// keyOf returns the key of a zone in that state.
func (s *stage) keyOf(zone, state string) string {
	s.t.Helper()
	var body struct {
		Params []struct {
			ID    int
			State string
		}
	}
	a := s.Send(s.t, Call{Method: "GET", Path: "/farms/names/zones/" + zone + "/keys"})
	if err := json.Unmarshal(a.Raw, &body); err != nil {
		s.t.Fatal(err)
	}
	for _, k := range body.Params {
		if k.State == state {
			return fmt.Sprint(k.ID)
		}
	}
	s.t.Fatalf("zone %s has no key that is %s: %s", zone, state, a.Raw)
	return ""
}

// beside creates missing objects outside of the configuration.
func (s *stage) beside() {
	s.t.Helper()
	for _, one := range s.others() {
		a := s.Send(s.t, Call{Method: one.method, Path: one.path, Body: one.body, Kind: one.kind})
		if a.Status >= 500 {
			s.t.Fatalf("%s %s %s: %d %s", one.method, one.path, one.body, a.Status, a.Raw)
		}
		if a.Status != 201 || one.path != "/keys" {
			continue
		}
		var made struct{ Params struct{ ID int } }
		if err := json.Unmarshal(a.Raw, &made); err != nil {
			s.t.Fatal(err)
		}
		if s.key != "" {
			s.Send(s.t, Call{Method: "DELETE", Path: "/keys/" + s.key})
		}
		s.key = fmt.Sprint(made.Params.ID)
	}
}

// restore reverts the effect of an accepted call.
func (s *stage) restore(o *Operation) {
	s.t.Helper()
	if !strings.HasPrefix(o.Path, "/farms") {
		s.beside()
	}
	if o.Method == "DELETE" || strings.Contains(o.Path, "/backends") || strings.Contains(o.Path, "/resources") {
		s.apply(o, `{"farms":[]}`) // so that numbers start again
	}
	s.apply(o, s.document)
}

// apply applies a configuration document.
func (s *stage) apply(o *Operation, document string) {
	s.t.Helper()
	a := s.Send(s.t, Call{Method: "PUT", Path: "/config", Kind: jsonKind, Body: document})
	if a.Status != 200 {
		s.t.Fatalf("after %s: the configuration is not restored: %d %s", o, a.Status, a.Raw)
	}
	s.revision = revisionOf(a)
	if s.Recorded != nil {
		s.Recorded()
	}
}

// names returns the values of path parameters.
func (s *stage) names(o *Operation) map[string]string {
	out := map[string]string{
		"farm": "shop", "zone": "example.com", "resource": "0", "service": "web", "backend": "0", "rule": "0", "session": "192.0.2.1", "revision": s.revision, "key": s.key,
		"certificate": "shop.pem", "authority": "clients", "user": "ann", "group": "team", "role": "ops", "lines": "3", "alert": "backends", "webhook": "ops",
		"address": "10.0.0.12", "check": "alive", "graph": "cpu", "frequency": "daily", "start": "01-01-2026-00:00", "end": "01-02-2026-00:00",
	}
	for name, value := range s.Names {
		out[name] = value
	}
	switch {
	case strings.HasPrefix(o.Path, "/farms/{farm}/backends"), strings.HasPrefix(o.Path, "/farms/{farm}/sessions"), strings.HasPrefix(o.Path, "/stats/farms/{farm}/backends"):
		out["farm"] = "dns"
	case strings.HasPrefix(o.Path, "/farms/{farm}/questions"):
		out["farm"] = "names"
	case strings.HasPrefix(o.Path, "/farms/{farm}/zones"):
		out["farm"], out["key"] = "names", s.active
		if strings.Contains(o.Path, "/keys") && o.Method == "DELETE" {
			out["zone"], out["key"] = "rolled.example", s.next
		}
	case strings.HasPrefix(o.Path, "/farms/{farm}/fg"):
		out["farm"], out["check"] = "dns", "check_tcp"
		if o.Method == "DELETE" {
			out["farm"] = "asked"
		}
	case strings.HasSuffix(o.Path, "/fg/{check}") && o.Method == "DELETE" && strings.HasPrefix(o.Path, "/farms"):
		out["service"], out["check"] = "api", "check_tcp"
	case strings.HasPrefix(o.Path, "/aliases"):
		out["interface"] = "eth9" // set by the fixture
	case strings.HasPrefix(o.Path, "/farms/{farm}/certificates"):
		out["farm"] = "tls"
	case o.Method == "DELETE" && o.Path == "/certificates/{certificate}":
		out["certificate"] = "spare.pem"
	case o.Method == "DELETE" && o.Path == "/rbac/roles/{role}":
		out["role"] = "spare"
	case strings.HasPrefix(o.Path, "/certificates/letsencrypt"):
		out["certificate"] = s.Names["ordered"]
	}
	return out
}

// at returns the path of an operation with its parameters filled in. The parameter other
// gets value.
func (s *stage) at(o *Operation, other, value string) string {
	var replacements []string
	for name, known := range s.names(o) {
		if name == other {
			known = value
		}
		replacements = append(replacements, "{"+name+"}", url.PathEscape(known))
	}
	return strings.NewReplacer(replacements...).Replace(o.Path)
}

// revisionOf returns the revision in the tag of a response, without the digest.
func revisionOf(a Answer) string {
	revision, _, _ := strings.Cut(strings.Trim(a.Header.Get("ETag"), `"`), ".")
	return revision
}
