package table_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// visit sends a request with the given Cookie fields. It returns the backend that served it
// and the cookie set, or nil.
func visit(t *testing.T, addr string, cookies ...string) (who string, set *http.Cookie) {
	t.Helper()
	var lines []string
	for _, c := range cookies {
		lines = append(lines, "Cookie: "+c)
	}
	res := l7test.Dial(t, addr).Send(l7test.Request(lines...)).Get()
	for _, c := range res.Cookies() {
		if c.Name == "LB" {
			set = c
		}
	}
	return res.Text, set
}

func TestCookieKeepsTheClientOnItsBackend(t *testing.T) {
	t.Parallel()
	one, two := l7test.NewNamed(t, "1"), l7test.NewNamed(t, "2")
	a := l7test.New(t, 2)
	addr := a.Serve(nil, l7test.Inserting(one.Addr, two.Addr))
	values := map[string]string{}
	for range 8 {
		who, set := visit(t, addr)
		if set == nil {
			t.Fatal("no cookie was set")
		}
		if old, known := values[who]; known && old != set.Value {
			t.Errorf("backend %s is called %s and %s", who, old, set.Value)
		}
		values[who] = set.Value
		if set.Domain != "a.test" || set.Path != "/app" || set.MaxAge != 300 || !set.HttpOnly || set.Secure || set.SameSite != http.SameSiteLaxMode {
			t.Errorf("the cookie is %v", set)
		}
		for range 3 {
			for _, cookie := range []string{"LB=" + set.Value, "a=b; LB=" + set.Value + "; c=d", "XLB=1;LB=\"" + set.Value + "\"", "LB=forged; LB=" + set.Value} {
				if again, renewed := visit(t, addr, cookie); again != who || renewed == nil || renewed.Value != set.Value || renewed.MaxAge != 300 {
					t.Errorf("with %q: served by %s, want %s, renewed: %v", cookie, again, who, renewed)
				}
			}
			if again, renewed := visit(t, addr, "a=b", "LB="+set.Value); again != who || renewed == nil || renewed.Value != set.Value {
				t.Errorf("in the second field: served by %s, want %s", again, who)
			}
		}
	}
	if len(values) != 2 || values["1"] == values["2"] {
		t.Errorf("values %v", values)
	}
	for _, v := range values {
		if len(v) < 12 || strings.Contains(v, "127") {
			t.Errorf("the value %q tells too much", v)
		}
	}
	// Another engine with the same configuration accepts the cookie.
	other := l7test.New(t, 1)
	front := other.Serve(nil, l7test.Inserting(one.Addr, two.Addr))
	for want, v := range values {
		if who, set := visit(t, front, "LB="+v); who != want || set == nil || set.Value != v {
			t.Errorf("after a restart: served by %s, want %s", who, want)
		}
	}
}

// With SameSite=None browsers require Secure, also from a farm behind a proxy that
// terminates TLS.
func TestCookieHasTheSameSiteOfItsService(t *testing.T) {
	t.Parallel()
	b := l7test.NewNamed(t, "1")
	a := l7test.New(t, 1)
	for same, want := range map[farm.SameSite]string{
		"": "; SameSite=Lax", farm.SameSiteLax: "; SameSite=Lax", farm.SameSiteStrict: "; SameSite=Strict", farm.SameSiteOff: "",
		farm.SameSiteNone: "; SameSite=None; Secure",
	} {
		s := l7test.Inserting(b.Addr)
		s.Cookie.SameSite = same
		res := l7test.Dial(t, a.Serve(nil, s)).Send(l7test.Request()).Get()
		if _, got, _ := strings.Cut(res.Header.Get("Set-Cookie"), "; HttpOnly"); got != want {
			t.Errorf("samesite %q: %q, want %q", same, res.Header.Get("Set-Cookie"), want)
		}
	}
}

func TestUnknownCookieIsReplaced(t *testing.T) {
	t.Parallel()
	b := l7test.NewNamed(t, "1")
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Inserting(b.Addr))
	for _, cookie := range []string{"LB=", "LB", "LB=forged", "lb=x", "LB=1; a=b", "=", ";;", "LB=" + strings.Repeat("x", 4000)} {
		if who, set := visit(t, addr, cookie); who != "1" || set == nil {
			t.Errorf("%.20q: served by %s, set: %v", cookie, who, set != nil)
		}
	}
	s := l7test.Inserting(b.Addr)
	s.ID = 7 // cookies of one service mean nothing to another
	_, set := visit(t, addr)
	a.Serve(nil, s)
	if _, again := visit(t, addr, "LB="+set.Value); again == nil || again.Value == set.Value {
		t.Error("the cookie of another service is honoured")
	}
}

func TestCookieOfAnUnusableBackend(t *testing.T) {
	t.Parallel()
	backends := map[string]*l7test.Backend{"1": l7test.NewNamed(t, "1"), "2": l7test.NewNamed(t, "2")}
	a := l7test.New(t, 1)
	s := l7test.Inserting(backends["1"].Addr, backends["2"].Addr)
	addr := a.Serve(nil, s)
	who, set := visit(t, addr)
	mine, other := map[string]int{"1": 0, "2": 1}[who], map[string]string{"1": "2", "2": "1"}[who]
	mode := func(m farm.Maintenance) {
		s.Backends[mine].Maintenance = m
		a.Serve(nil, s)
	}
	mode(farm.MaintenanceDrain)
	if got, again := visit(t, addr, "LB="+set.Value); got != who || again == nil || again.Value != set.Value {
		t.Errorf("drain moved the client to %s", got)
	}
	if got, _ := visit(t, addr); got != other {
		t.Errorf("drain let a new client in")
	}
	mode(farm.MaintenanceCut)
	if got, again := visit(t, addr, "LB="+set.Value); got != other || again == nil || again.Value == set.Value {
		t.Errorf("cut: served by %s, set: %v", got, again)
	}
	mode(farm.MaintenanceOff)
	if got, _ := visit(t, addr, "LB="+set.Value); got != who {
		t.Errorf("after maintenance: served by %s, want %s", got, who)
	}
	backends[who].Close()
	got, again := visit(t, addr, "LB="+set.Value)
	if got != other || again == nil {
		t.Errorf("down: served by %s, set: %v", got, again)
	}
}

func TestInsertedCookieCombinesWithHeaderRules(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nSet-Cookie: own=1\r\nContent-Length: 2\r\n\r\nok"))
	s := l7test.Inserting(b.Addr)
	s.Cookie.TTL, s.AddResponse, s.RemoveResponse = 0, l7test.Add("X: y"), l7test.Remove("^Set-Cookie: own")
	a := l7test.New(t, 1)
	res := l7test.Dial(t, a.Serve(nil, s)).Send(l7test.Request()).Get()
	got := res.Header.Values("Set-Cookie")
	if len(got) != 1 || !strings.HasPrefix(got[0], "LB=") || strings.Contains(got[0], "Max-Age") || res.Header.Get("X") != "y" {
		t.Errorf("got %q", res.Header)
	}
}

func TestInvalidCookieSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []farm.CookieInsert{{}, {Name: "a b"}, {Name: "a;"}, {Name: "a\r\n"}, {Name: "a", Path: "/;x"}, {Name: "a", Domain: "b\nc"}, {Name: "a", Path: "/\x00"}} {
		a := l7test.New(t, 1)
		a.Serve(nil, l7test.Service("web", "127.0.0.1:1"))
		f := a.Farm.Clone()
		f.HTTP.Services[0].Cookie = &c
		if _, err := a.Engine.Publish(100, &farm.Config{Farms: []farm.Farm{f}}, nil); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
