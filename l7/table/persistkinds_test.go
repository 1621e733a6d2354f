package table_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestEveryPersistenceKeepsItsClient(t *testing.T) {
	t.Parallel()
	basic := func(user string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":secret"))
	}
	for _, c := range []struct {
		kind     farm.Persistence
		id       string
		request  [2]string // of the same client
		other    string    // of an unidentified client; empty if every client is identified
		sessions string    // session key
	}{
		{farm.PersistIP, "", [2]string{l7test.Request(), l7test.Request("A: b")}, "", "127.0.0.1"},
		{farm.PersistBasic, "", [2]string{l7test.Request(basic("joe")), l7test.Request("authorization: bASIC " + base64.StdEncoding.EncodeToString([]byte("joe:other")))}, l7test.Request("Authorization: Bearer x"), "joe"},
		{farm.PersistURL, "sid", [2]string{l7test.Get("/a?x=1&sid=42"), l7test.Get("/b?sid=42&y")}, l7test.Get("/a?xsid=42"), "42"},
		{farm.PersistParm, "", [2]string{l7test.Get("/a;42"), l7test.Get("/b;x;42?q")}, l7test.Get("/a?;42"), "42"},
		{farm.PersistCookie, "SID", [2]string{l7test.Request("Cookie: SID=42"), l7test.Request("Cookie: a=b; SID=42; c")}, l7test.Request("Cookie: sid=42"), "42"},
		{farm.PersistHeader, "X-Client", [2]string{l7test.Request("X-Client: 42"), l7test.Request("x-CLIENT:  42 ")}, l7test.Request("X-Clients: 42"), "42"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			one, two, three := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2"), l7test.NewNamed(t, "3")
			a := l7test.New(t, 2)
			s := l7test.Service("web", one.Addr, two.Addr, three.Addr)
			s.Persistence, s.SessionID, s.TTL = c.kind, c.id, 60
			addr := a.Serve(nil, s)
			came := map[string]bool{}
			for i := range 12 {
				came[l7test.Dial(t, addr).Send(c.request[i%2]).Get().Text] = true
			}
			if total, list := a.Engine.SessionsOf(1).List(10); len(came) != 1 || total != 1 || string(list[0].Key) != c.sessions {
				t.Errorf("backends %v, %d sessions %v", came, total, list)
			}
			for range 12 {
				if c.other != "" {
					came[l7test.Dial(t, addr).Send(c.other).Get().Text] = true
				}
			}
			if total, _ := a.Engine.SessionsOf(1).List(10); c.other != "" && (len(came) != 3 || total != 1) {
				t.Errorf("other clients stay on %v, %d sessions", came, total)
			}
		})
	}
}

// HTTP/2 may split cookies into several fields (RFC 9113, 8.2.3). Persistence finds the same
// value.
func TestEveryPersistenceKeepsAStreamToo(t *testing.T) {
	shown := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("x")) })
	for _, c := range []struct {
		kind     farm.Persistence
		id, key  string
		path     string
		header   http.Header
		sessions int
	}{
		{farm.PersistIP, "", "127.0.0.1", "/", nil, 1},
		{farm.PersistBasic, "", "joe", "/", http.Header{"Authorization": {"Basic am9lOnNlY3JldA=="}}, 1},
		{farm.PersistURL, "sid", "42", "/a?x=1&sid=42", nil, 1},
		{farm.PersistParm, "", "42", "/a;42", nil, 1},
		{farm.PersistCookie, "SID", "42", "/", http.Header{"Cookie": {"a=b; SID=42; c=d"}}, 1},
		{farm.PersistCookie, "SID", "", "/", http.Header{"Cookie": {"sid=42"}}, 0},
		{farm.PersistHeader, "X-Client", "42", "/", http.Header{"X-Client": {"42"}}, 1},
	} {
		l7test.EachWay(t, shown, func(t *testing.T, a *l7test.Appliance, client *http.Client, url string) {
			for range 3 {
				r, err := http.NewRequest("GET", url+c.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if c.header != nil {
					r.Header = c.header.Clone()
				}
				res, err := client.Do(r)
				if err != nil || res.StatusCode != 200 || res.ProtoMajor != 2 {
					t.Fatalf("%v, %v", res, err)
				}
				_ = res.Body.Close()
			}
			if total, list := a.Engine.SessionsOf(1).List(10); total != c.sessions || total > 0 && string(list[0].Key) != c.key {
				t.Errorf("%s: %d sessions %v", c.kind, total, list)
			}
		}, func(h *farm.HTTP) {
			s := &h.Services[0]
			s.Persistence, s.SessionID, s.TTL = c.kind, c.id, 60
		})
	}
}
