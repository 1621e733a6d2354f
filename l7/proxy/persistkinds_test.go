package proxy_test

import (
	"encoding/base64"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestEveryPersistenceKeepsTheClientItNames(t *testing.T) {
	t.Parallel()
	basic := func(user string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":secret"))
	}
	for _, c := range []struct {
		kind     farm.Persistence
		id       string
		request  [2]string // of the same client
		other    string    // of nobody in particular; empty: everybody is somebody
		sessions string    // the key
	}{
		{farm.PersistIP, "", [2]string{request(), request("A: b")}, "", "127.0.0.1"},
		{farm.PersistBasic, "", [2]string{request(basic("joe")), request("authorization: bASIC " + base64.StdEncoding.EncodeToString([]byte("joe:other")))}, request("Authorization: Bearer x"), "joe"},
		{farm.PersistURL, "sid", [2]string{get("/a?x=1&sid=42"), get("/b?sid=42&y")}, get("/a?xsid=42"), "42"},
		{farm.PersistParm, "", [2]string{get("/a;42"), get("/b;x;42?q")}, get("/a?;42"), "42"},
		{farm.PersistCookie, "SID", [2]string{request("Cookie: SID=42"), request("Cookie: a=b; SID=42; c")}, request("Cookie: sid=42"), "42"},
		{farm.PersistHeader, "X-Client", [2]string{request("X-Client: 42"), request("x-CLIENT:  42 ")}, request("X-Clients: 42"), "42"},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			one, two, three := named(t, "1"), named(t, "2"), named(t, "3")
			a := l7test.New(t, 2)
			s := l7test.Service("web", one.Addr, two.Addr, three.Addr)
			s.Persistence, s.SessionID, s.TTL = c.kind, c.id, 60
			addr := a.Serve(nil, s)
			came := map[string]bool{}
			for i := range 12 {
				came[l7test.Dial(t, addr).Send(c.request[i%2]).Get().Text] = true
			}
			if total, list := a.Engine.Sessions(1, 10); len(came) != 1 || total != 1 || string(list[0].Key) != c.sessions {
				t.Errorf("backends %v, %d sessions %v", came, total, list)
			}
			for range 12 {
				if c.other != "" {
					came[l7test.Dial(t, addr).Send(c.other).Get().Text] = true
				}
			}
			if total, _ := a.Engine.Sessions(1, 10); c.other != "" && (len(came) != 3 || total != 1) {
				t.Errorf("others stay on %v, %d sessions", came, total)
			}
		})
	}
}
