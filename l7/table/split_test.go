package table_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// sharing returns services a, b, … whose backends respond with their name. There is one
// weight each, -1 for none.
func sharing(t *testing.T, weights ...int) (list []farm.Service) {
	t.Helper()
	for i, weight := range weights {
		name := string(rune('a' + i))
		s := l7test.Service(name, l7test.NewNamed(t, name).Addr)
		s.ID, s.Backends[0].ID = uint32(i+1), uint32(i+1)
		if weight >= 0 {
			n := uint8(weight)
			s.Split = &n
		}
		list = append(list, s)
	}
	return list
}

// shares sends requests and counts the services that responded.
func shares(c *l7test.Client, count int, request string) map[string]int {
	_ = c.SetDeadline(time.Now().Add(time.Minute)) // allows for a busy machine
	got := map[string]int{}
	for range count {
		res := c.Send(request).Get()
		got[res.Text+res.Header.Get("Location")]++
	}
	return got
}

func TestServicesShareByWeight(t *testing.T) {
	t.Parallel()
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, sharing(t, 10, 90)...))
	const count = 600
	got := shares(c, count, l7test.Get("/"))
	if got["a"] < 20 || got["a"] > 105 || got["a"]+got["b"] != count { // expected 60, standard deviation 7
		t.Errorf("of %d requests with 10 to 90 went %v", count, got)
	}
}

func TestOnlyServicesThatMatchShare(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	edit := func(list []farm.Service, change func(s []farm.Service)) []farm.Service {
		change(list)
		return list
	}
	for name, c := range map[string]struct {
		list []farm.Service
		want string
	}{
		"another host":          {edit(sharing(t, 50, 50, 50), func(s []farm.Service) { s[1].VHost = "b.test" }), "a c"},
		"another path":          {edit(sharing(t, 50, 50, 50), func(s []farm.Service) { s[0].URL, s[1].URL = "^/no", "^/$" }), "b c"},
		"another header":        {edit(sharing(t, 50, 50), func(s []farm.Service) { s[1].HeadRequire = []string{"^X-Beta: 1"} }), "a"},
		"a header":              {edit(sharing(t, 50, 50), func(s []farm.Service) { s[1].HeadDeny = []string{"^X-Beta: 1"} }), "a b"},
		"the run ends":          {sharing(t, 50, 50, -1, 50), "a b"},
		"it begins later":       {sharing(t, -1, 50, 50), "a"},
		"alone":                 {sharing(t, 50, -1), "a"},
		"weight 0":              {sharing(t, 0, 50, 0, 50), "b d"},
		"all have weight 0":     {sharing(t, 0, 0), "a"},
		"alone with weight 0":   {sharing(t, 0, -1), "a"},
		"one of them redirects": {edit(sharing(t, 50, 50), func(s []farm.Service) { s[1].Redirect = "http://new.test" }), "a http://new.test"},
	} {
		got := shares(l7test.Dial(t, a.Serve(nil, c.list...)), 30, l7test.Get("/"))
		for _, s := range strings.Fields(c.want) {
			if got[s] == 0 {
				t.Errorf("%s: %s got no request: %v", name, s, got)
			}
			delete(got, s)
		}
		if len(got) != 0 {
			t.Errorf("%s: %v got requests, too", name, got)
		}
	}
}

func TestSplitKeepsKnownClients(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(s *farm.Service){
		"address":         func(s *farm.Service) { s.Persistence = farm.PersistIP },
		"user":            func(s *farm.Service) { s.Persistence = farm.PersistBasic },
		"parameter":       func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistURL, "sid" },
		"header":          func(s *farm.Service) { s.Persistence, s.SessionID = farm.PersistHeader, "X-Sid" },
		"inserted cookie": func(s *farm.Service) { s.Cookie = farm.DefaultCookie() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			serve := func(list []farm.Service) string {
				for i := range list {
					edit(&list[i])
				}
				return a.Serve(nil, list...)
			}
			list := sharing(t, 50, 50)
			addr := serve(list)
			lines := []string{"Authorization: Basic YWxpOng=", "X-Sid: 1"}
			send := func() string {
				sent := strings.Replace(l7test.Request(lines...), "GET / ", "GET /?sid=1 ", 1)
				res := l7test.Dial(t, addr).Send(sent).Get()
				if v, _, ok := strings.Cut(res.Header.Get("Set-Cookie"), ";"); ok {
					lines = append(lines, "Cookie: "+v)
				}
				return res.Text
			}
			first := send()
			for range 20 {
				if got := send(); got != first {
					t.Fatalf("it went to %s, then to %s", first, got)
				}
			}
			// The service that has the client's session gets no other clients.
			none, all := uint8(0), uint8(100)
			for i := range list {
				if list[i].Split = &all; list[i].Name == first {
					list[i].Split = &none
				}
			}
			serve(list)
			if got := send(); got != first {
				t.Errorf("with weight 0 it left %s for %s", first, got)
			}
			for i := range list {
				if list[i].Name == first {
					list[i].Backends[0].Maintenance = farm.MaintenanceCut
				}
			}
			serve(list)
			if got := send(); got == first {
				t.Errorf("it is still sent to %s, which was cut", first)
			}
		})
	}
}

func TestStreamsOfHTTP2Share(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, a *l7test.Appliance, c *http.Client, url string) {
		got := map[int]int{}
		for range 60 {
			res, err := c.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			got[res.StatusCode]++
		}
		if got[200] < 8 || got[302] < 8 || got[200]+got[302] != 60 {
			t.Errorf("of 60 went %v", got)
		}
	}, func(h *farm.HTTP) {
		half := uint8(50)
		h.Services[0].Split = &half
		h.Services = append(h.Services, farm.Service{ID: 2, Name: "new", Redirect: "http://new.test", Split: &half})
	})
}
