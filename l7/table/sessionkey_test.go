package table_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

func TestSessionKeysAreFoundPerSetting(t *testing.T) {
	t.Parallel()
	basic := func(text string) string {
		return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(text))
	}
	long := strings.Repeat("x", session.MaxKey)
	for _, c := range []struct {
		kind   farm.Persistence
		name   string
		target string
		line   string
		want   string
	}{
		{farm.PersistIP, "", "/", "X: y", "192.0.2.1"},
		{farm.PersistBasic, "", "/", basic("joe:secret"), "joe"},
		{farm.PersistBasic, "", "/", basic("joe"), "joe"},
		{farm.PersistBasic, "", "/", basic(":secret"), ""},
		{farm.PersistBasic, "", "/", "Authorization: bAsIc  am9lOng= ", "joe"},
		{farm.PersistBasic, "", "/", "Authorization: Basic am9lOng", ""},
		{farm.PersistBasic, "", "/", "Authorization: Bearer am9lOng=", ""},
		{farm.PersistBasic, "", "/", "Authorization: Basic", ""},
		{farm.PersistBasic, "", "/", "X: y", ""},
		{farm.PersistURL, "sid", "/a?x&sid=1&sid=2", "X: y", "1"},
		{farm.PersistURL, "sid", "/sid=1?sid", "X: y", ""},
		{farm.PersistURL, "sid", "/a?SID=1&xsid=2", "X: y", ""},
		{farm.PersistURL, "sid", "/a?sid=" + long + "x", "X: y", string(session.AppendKey(nil, []byte(long+"x")))},
		{farm.PersistParm, "", "/a;b;c?d;e", "X: y", "c"},
		{farm.PersistParm, "", "/a;", "X: y", ""},
		{farm.PersistParm, "", "/;a", "X: y", "a"},
		{farm.PersistParm, "", "/a", "X: y", ""},
		{farm.PersistHeader, "X-ID", "/", "x-id: 7", "7"},
		{farm.PersistHeader, "X-ID", "/", "X-ID: " + long, long},
		{farm.PersistHeader, "X-ID", "/", "X-ID: " + long + "x", string(session.AppendKey(nil, []byte(long+"x")))},
		{farm.PersistHeader, "X-ID", "/", "X-I: 7", ""},
		{farm.PersistCookie, "SID", "/", "Cookie: sid=1; SID=2", "2"},
		{farm.PersistCookie, "SID", "/", "Cookie: SID", ""},
	} {
		p := newPlanner(t, nil, web(func(s *farm.Service) { s.Persistence, s.SessionID = c.kind, c.name }))
		p.become(ask("GET", c.target, c.line))
		if got := string(p.choice.Key); got != c.want || p.choice.Keyed(p.service()) != (c.want != "") {
			t.Errorf("%s %q: of %.40q and %.60q is the key %.40q, want %.40q", c.kind, c.name, c.target, c.line, got, c.want)
		}
	}
}

func TestCookiesAreFoundInAnswers(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"Set-Cookie: SID=1; Path=/":                           "1",
		"Set-Cookie: a=b; SID=1":                              "", // an attribute of another cookie
		"Set-Cookie: a=b\r\nX: y\r\nSet-Cookie: SID=2; SID=3": "2",
		"Cookie: SID=1":                                       "",
		"X-Out: 1\r\nSet-Cookie: SID=\"4\"":                   "4",
	} {
		var r http1.Response
		if _, err := r.Parse([]byte("HTTP/1.1 200 OK\r\n" + lines + "\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		if got := string(table.FindCookie(&r.Head, http1.KnownSetCookie, []byte("SID"))); got != want {
			t.Errorf("%q: found %q, want %q", lines, got, want)
		}
		for i := range r.NumFields {
			r.Remove(i)
		}
		if got := table.FindCookie(&r.Head, http1.KnownSetCookie, []byte("SID")); got != nil {
			t.Errorf("%q: found %q in a removed field", lines, got)
		}
	}
}
