package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/apitest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/api/traffic"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// sessionTable fakes the sessions of an engine; one is dynamic.
type sessionTable struct {
	gone    bool
	err     error
	learned []string
}

func (s *sessionTable) List(_ context.Context, g farm.Group, limit int) (list []state.Session, total int, err error) {
	for i, b := range g.Backends() {
		for _, session := range b.Sessions {
			list = append(list, state.StaticSession(g, i, session))
		}
	}
	found, _, _ := s.Find(context.Background(), g, "c")
	list = append(list, found)
	return list[:min(limit, len(list))], 5000, s.err
}

func (s *sessionTable) Find(_ context.Context, g farm.Group, session string) (state.Session, bool, error) {
	left := "54m5s"
	return state.Session{Client: session, Session: session, Service: g.Name(), TTL: &left, Type: "dynamic"}, session == "c" || session == "192.0.2.9", s.err
}

func (s *sessionTable) Delete(_ context.Context, _ farm.Group, session string) (bool, error) {
	was := (session == "c" || session == "192.0.2.9") && !s.gone
	s.gone = s.gone || was
	return was, s.err
}

func (s *sessionTable) Flush(context.Context, farm.Group) (int, error) { return 17, s.err }

func (s *sessionTable) Learn(_ context.Context, g farm.Group, session string, backend uint32, ttl time.Duration) (bool, error) {
	s.learned = append(s.learned, fmt.Sprintf("%s %d %v", session, backend, ttl))
	return g.Backends()[0].ID == backend, s.err
}

func TestSessionsAreListedMadeAndDeleted(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"COOKIE","sessionid":"SID"}`)
	const path = "/farms/shop/services/web/sessions"
	r := a.must(201, "POST", path, `{"id":1.0,"session":"JSESSIONID.a b/ü"}`)
	r.want(t, "params.type", "static")
	r.want(t, "params.ttl", nil)
	r.want(t, "params.id", 1)
	r = a.must(200, "GET", path, "")
	r.want(t, "total_sessions", 5000)
	r.want(t, "params.0.session", "JSESSIONID.a b/ü")
	r.want(t, "params.1.ttl", "54m5s")
	if r := a.must(200, "GET", path+"?limit=1", ""); strings.Contains(r.raw, "54m5s") {
		t.Errorf("got %s", r.raw)
	}
	a.must(400, "GET", path+"?limit=1001", "")
	a.must(400, "GET", path+"?limit=0", "")
	a.must(200, "GET", path+"?session=c", "").want(t, "total_sessions", 1)
	a.must(200, "GET", path+"?session=JSESSIONID.a%20b%2F%C3%BC", "").want(t, "params.0.type", "static")
	a.must(200, "GET", path+"?session=nobody", "").want(t, "total_sessions", 0)
	a.must(404, "DELETE", path+"/nobody", "")
	a.must(200, "DELETE", path+"/c", "")
	a.must(404, "DELETE", path+"/c", "")
	a.must(201, "POST", path, `{"id":0,"session":"a b:_.c"}`)
	a.must(200, "DELETE", path+"/a%20b:_.c", "")
	a.must(404, "DELETE", path+"?session=nobody", "")
	a.must(200, "DELETE", path+"?session=JSESSIONID.a%20b%2F%C3%BC", "")
	if left := a.statics(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if r := a.must(200, "DELETE", path, ""); !strings.Contains(r.raw, "17 dynamic sessions") {
		t.Errorf("got %s", r.raw)
	}
	a.must(404, "GET", "/farms/shop/services/none/sessions", "")
}

func TestSessionsThatCannotBeAreRefused(t *testing.T) {
	table := &sessionTable{}
	a := newAppliance(t, func(d *apitest.Parts) { d.Traffic.SessionTable = table })
	a.shop(2)
	const path = "/farms/shop/services/web/sessions"
	a.must(400, "POST", path, `{"id":0,"session":"a"}`).refused(t, 400, "set persistence first")
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"COOKIE","sessionid":"SID"}`)
	for body, status := range map[string]int{
		`{}`: 400, `{"id":0}`: 400, `{"session":"a"}`: 400, `{"id":2,"session":"a"}`: 404, `{"id":0.5,"session":"a"}`: 404, `{"id":"x","session":"a"}`: 404,
		`{"id":0,"session":""}`: 400, `{"id":0,"session":5}`: 400, `{"id":0,"session":"a\nb"}`: 400, `{"id":0,"session":"a","tll":5}`: 400,
		`{"id":"1","session":"` + strings.Repeat("x", 255) + `"}`: 201,
		`{"id":"1","session":"` + strings.Repeat("x", 256) + `"}`: 201, // under its digest
	} {
		if r := a.do("POST", path, body); r.status != status {
			t.Errorf("%.60s: %d, want %d: %s", body, r.status, status, r.raw)
		}
	}
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"IP"}`)
	a.must(400, "POST", path, `{"id":0,"session":"somebody"}`)
	a.must(201, "POST", path, `{"id":0,"session":"2001:DB8:0::1"}`).want(t, "params.session", "2001:db8::1")
	for err, status := range map[error]int{
		fmt.Errorf("%w: no room", traffic.ErrSessionRefused): 400, apply.ErrUnavailable: 503, context.DeadlineExceeded: 503, errors.New("broken"): 500,
	} {
		table.err = err
		for _, call := range [][2]string{{"GET", path}, {"DELETE", path}, {"DELETE", path + "/a"}} {
			if r := a.do(call[0], call[1], ""); r.status != status {
				t.Errorf("%v: %s %s: %d, want %d", err, call[0], call[1], r.status, status)
			}
		}
	}
}

func TestSessionsWithATTLAreLearnedAndNoConfiguration(t *testing.T) {
	table := &sessionTable{}
	a := newAppliance(t, func(d *apitest.Parts) { d.Traffic.SessionTable = table })
	a.dns(2)
	a.shop(2)
	const path = "/farms/dns/sessions"
	a.do("POST", path, `{"id":0,"session":"192.0.2.7","ttl":9}`).refused(t, 400, "set persistence first")
	a.must(200, "PUT", "/farms/dns", `{"persistence":"srcip","ttl":90}`)
	_, before := a.applier.Current()
	r := a.must(201, "POST", path, `{"id":0,"session":" 192.0.2.7","ttl":"90"}`)
	for name, value := range map[string]any{"params.type": "dynamic", "params.ttl": "1m30s", "params.session": "192.0.2.7", "params.id": 0,
		"message": "The session goes to backend 0 until it has not been used for 1m30s."} {
		r.want(t, name, value)
	}
	if want := fmt.Sprintf("192.0.2.7 %d 1m30s", a.config().Farm("dns").L4.Backends[0].ID); len(table.learned) != 1 || table.learned[0] != want {
		t.Errorf("learned %q, want %q", table.learned, want)
	}
	if _, after := a.applier.Current(); after.Number != before.Number {
		t.Error("a session that clients can make is a revision")
	}
	for body, texts := range map[string][]string{
		`{"id":0,"session":"192.0.2.7","ttl":91}`: {"ttl", "1 to 90", "farm dns", "91"}, `{"id":0,"session":"192.0.2.7","ttl":0}`: {"ttl"},
		`{"id":0,"session":"192.0.2.7","ttl":"1m"}`: {"ttl", "1m"}, `{"id":0,"session":"x","ttl":5}`: {"session must be an address"},
		`{"id":1,"session":"192.0.2.7","ttl":5}`: {"backend 1 of farm dns", "maintenance"},
	} {
		a.do("POST", path, body).refused(t, 400, texts...)
	}
	a.must(201, "POST", path, `{"id":1,"session":"192.0.2.8","ttl":null}`).want(t, "params.type", "static")
	a.do("POST", path, `{"id":0,"session":"192.0.2.8","ttl":5}`).refused(t, 400, "static session of backend 1", "delete it first")
	table.err = fmt.Errorf("%w: no room", traffic.ErrSessionRefused)
	a.do("POST", path, `{"id":0,"session":"192.0.2.7","ttl":5}`).refused(t, 400, "no room")
	table.err = apply.ErrUnavailable
	a.do("POST", path, `{"id":0,"session":"192.0.2.7","ttl":5}`).refused(t, 503, "the engine does not answer")

	a.must(200, "PUT", "/farms/dns/actions", `{"action":"stop"}`)
	a.do("POST", path, `{"id":0,"session":"192.0.2.7","ttl":5}`).refused(t, 400, "dns is stopped", "start it first")
	a.do("DELETE", path, "").refused(t, 400, "dns is stopped", "start it first")
	a.do("DELETE", path+"/192.0.2.7", "").refused(t, 404, "192.0.2.7")
	a.must(200, "DELETE", path+"/192.0.2.8", "")

	table.err = nil
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"COOKIE","sessionid":"SID"}`)
	a.do("POST", "/farms/shop/services/web/sessions", `{"id":0,"session":"a","ttl":121}`).refused(t, 400, "1 to 120", "service web of farm shop")
	a.must(201, "POST", "/farms/shop/services/web/sessions", `{"id":0,"session":"a","ttl":7}`).want(t, "params.ttl", "7s")
}

func (a *appliance) statics() (out []string) {
	cfg, _ := a.applier.Current()
	for _, b := range cfg.Farms[0].HTTP.Services[0].Backends {
		out = append(out, b.Sessions...)
	}
	return out
}

// Static sessions are configuration. They have revisions, belong to one backend, and are
// deleted with it or with the kind of persistence.
func TestStaticSessionsAreConfiguration(t *testing.T) {
	a := newAppliance(t)
	a.shop(2)
	const service, path = "/farms/shop/services/web", "/farms/shop/services/web/sessions"
	a.must(200, "PUT", service, `{"persistence":"COOKIE","sessionid":"SID"}`)
	_, before := a.applier.Current()
	a.must(201, "POST", path, `{"id":0,"session":"joe"}`)
	a.do("POST", path, `{"id":1,"session":"joe"}`).refused(t, 409)
	a.must(200, "DELETE", path+"/joe", "")
	a.must(201, "POST", path, `{"id":1,"session":"joe"}`)
	cfg, rev := a.applier.Current()
	if b := cfg.Farms[0].HTTP.Services[0].Backends; len(b[0].Sessions) != 0 || !slices.Equal(b[1].Sessions, []string{"joe"}) || rev.Number != before.Number+3 || strings.Contains(rev.Comment, "joe") {
		t.Errorf("%v, %v, revision %+v", b[0].Sessions, b[1].Sessions, rev)
	}
	a.do("POST", path, `{"id":1,"session":"joe"}`).refused(t, 409)
	if _, again := a.applier.Current(); again.Number != rev.Number {
		t.Error("a restore without changes made a revision")
	}
	a.must(200, "PUT", service, `{"persistence":"COOKIE","sessionid":"OTHER","ttl":5}`)
	if got := a.statics(); len(got) != 1 {
		t.Errorf("another cookie: %v", got)
	}
	a.must(200, "PUT", service, `{"persistence":"IP"}`)
	if got := a.statics(); len(got) != 0 {
		t.Errorf("another kind: %v", got)
	}
	a.must(201, "POST", path, `{"id":1,"session":"::ffff:192.0.2.1"}`).want(t, "params.session", "192.0.2.1")
	a.must(200, "GET", path+"?session=::ffff:192.0.2.1", "").want(t, "params.0.id", 1)
	a.must(200, "DELETE", service+"/backends/1", "")
	if got := a.statics(); len(got) != 0 {
		t.Errorf("without the backend: %v", got)
	}
	a.must(200, "PUT", service, `{"persistence":"NONE"}`)
}
