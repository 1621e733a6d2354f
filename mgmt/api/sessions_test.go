package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api"
	"github.com/sluicelb/sluice/mgmt/apply"
)

// sessionTable is an engine's sessions in a test: those of one service.
type sessionTable struct {
	static map[string]uint32 // session → stable number of a backend
	err    error
}

func (s *sessionTable) List(_ context.Context, _ *farm.Farm, v *farm.Service) (list []api.Session, total int, err error) {
	for session, id := range s.static {
		for i := range v.Backends {
			if b := &v.Backends[i]; b.ID == id {
				list = append(list, api.Session{Client: session, ID: i, Session: session, BackendIP: b.Host, BackendPort: b.Port, Service: v.Name, Type: "static"})
			}
		}
	}
	left := "54m5s"
	list = append(list, api.Session{Client: "c", Session: "c", Service: v.Name, TTL: &left, Type: "dynamic"})
	return list, 5000, s.err
}

func (s *sessionTable) Put(_ context.Context, _ *farm.Service, backend uint32, session string) error {
	if s.err == nil {
		s.static[session] = backend
	}
	return s.err
}

func (s *sessionTable) Delete(_ context.Context, _ *farm.Service, session string) (bool, error) {
	_, was := s.static[session]
	delete(s.static, session)
	return was, s.err
}

func (s *sessionTable) Flush(context.Context, *farm.Service) (int, error) { return 17, s.err }

func TestSessionsAreListedMadeAndDeleted(t *testing.T) {
	table := &sessionTable{static: map[string]uint32{}}
	a := newAppliance(t, func(d *api.Deps) { d.SessionTable = table })
	a.shop(2)
	const path = "/farms/shop/services/web/sessions"
	r := a.must(201, "POST", path, `{"id":1,"session":"JSESSIONID.a b/ü"}`)
	r.want(t, "params.type", "static")
	r.want(t, "params.ttl", nil)
	r.want(t, "params.id", 1)
	r = a.must(200, "GET", path, "")
	r.want(t, "total_sessions", 5000)
	r.want(t, "params.0.session", "JSESSIONID.a b/ü")
	r.want(t, "params.1.ttl", "54m5s")
	a.must(404, "DELETE", path+"/nobody", "")
	a.must(201, "POST", path, `{"id":0,"session":"a b:_.c"}`)
	a.must(200, "DELETE", path+"/a%20b:_.c", "")
	a.must(404, "DELETE", path+"?session=nobody", "")
	a.must(200, "DELETE", path+"?session=JSESSIONID.a%20b%2F%C3%BC", "")
	if len(table.static) != 0 {
		t.Errorf("left: %v", table.static)
	}
	if r := a.must(200, "DELETE", path, ""); !strings.Contains(r.raw, "17 sessions") {
		t.Errorf("got %s", r.raw)
	}
	a.must(404, "GET", "/farms/shop/services/none/sessions", "")
}

func TestSessionsThatCannotBeAreRefused(t *testing.T) {
	table := &sessionTable{static: map[string]uint32{}}
	a := newAppliance(t, func(d *api.Deps) { d.SessionTable = table })
	a.shop(2)
	const path = "/farms/shop/services/web/sessions"
	for body, status := range map[string]int{
		`{}`: 400, `{"id":0}`: 400, `{"session":"a"}`: 400, `{"id":2,"session":"a"}`: 404, `{"id":0.5,"session":"a"}`: 404, `{"id":"x","session":"a"}`: 404,
		`{"id":0,"session":""}`: 400, `{"id":0,"session":5}`: 400, `{"id":0,"session":"a\nb"}`: 400, `{"id":0,"session":"a","ttl":5}`: 400,
		`{"id":0,"session":"` + strings.Repeat("x", 256) + `"}`:   400,
		`{"id":"1","session":"` + strings.Repeat("x", 255) + `"}`: 201,
	} {
		if r := a.do("POST", path, body); r.status != status {
			t.Errorf("%.60s: %d, want %d: %s", body, r.status, status, r.raw)
		}
	}
	a.must(200, "PUT", "/farms/shop/services/web", `{"persistence":"IP"}`)
	a.must(400, "POST", path, `{"id":0,"session":"somebody"}`)
	a.must(201, "POST", path, `{"id":0,"session":"2001:DB8:0::1"}`).want(t, "params.session", "2001:db8::1")
	for err, status := range map[error]int{
		fmt.Errorf("%w: no room", api.ErrSessionRefused): 400, apply.ErrUnavailable: 503, context.DeadlineExceeded: 503, errors.New("broken"): 500,
	} {
		table.err = err
		for _, call := range [][2]string{{"GET", path}, {"DELETE", path}, {"DELETE", path + "/a"}} {
			if r := a.do(call[0], call[1], ""); r.status != status {
				t.Errorf("%v: %s %s: %d, want %d", err, call[0], call[1], r.status, status)
			}
		}
		if r := a.do("POST", path, `{"id":0,"session":"192.0.2.1"}`); r.status != status {
			t.Errorf("%v: POST: %d, want %d: %s", err, r.status, status, r.raw)
		}
	}
}
