package explain_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/l7/l7test"
	"github.com/sluicelb/sluice/l7/table"
)

// world generates random farms and requests from a small vocabulary, so that matches are
// frequent.
type world struct {
	*rand.Rand
	addrs   []string
	backend uint32
}

func (w *world) one(texts ...string) string { return texts[w.IntN(len(texts))] }

func (w *world) may(n int) bool { return w.IntN(n) == 0 }

func (w *world) service(id int) farm.Service {
	s := farm.Service{
		ID: uint32(id), Name: fmt.Sprintf("s%d", id),
		VHost:       w.one("", "", "", "", `a\.test`, `b\.test$`, `.*\.test`, "^[ab]", "c"),
		URL:         w.one("", "", "", "", "^/x", "/y", `\.png$`, "^/x/(.*)", "q=1"),
		Policy:      farm.RoutingPolicies()[w.IntN(len(farm.RoutingPolicies()))],
		Persistence: append(farm.Persistences(), "", "", "")[w.IntN(len(farm.Persistences())+3)],
		IgnoreCase:  w.may(4),
	}
	if s.Persistence != "" {
		s.TTL = 60
	}
	switch s.Persistence {
	case farm.PersistURL, farm.PersistHeader, farm.PersistCookie:
		s.SessionID = "sid"
	}
	if w.may(4) {
		s.HeadRequire = []string{w.one("^X-A:", "^Accept: .*json", "1")}
	}
	if w.may(4) {
		s.HeadDeny = []string{"^X-Stop:", w.one("^X-A: 2", "html")}
	}
	if w.may(6) {
		s.Redirect, s.RedirectType = w.one("http://${VHOST}/new", "http://n.test/$1", "https://n.test"), farm.RedirectAppend
	}
	if s.Redirect == "" && w.may(8) {
		sum := sha256.Sum256([]byte("7"))
		s.Auth = &farm.Auth{Header: "sid", Keys: []farm.AuthKey{farm.AuthKey(hex.EncodeToString(sum[:]))}, Pass: w.may(2)}
	}
	if w.may(8) {
		s.Queue = 2
	}
	if w.may(8) {
		s.RateLimit = &farm.RateLimit{Requests: 3, Period: 3600}
	}
	if w.may(2) {
		s.Cookie = &farm.CookieInsert{Name: "LB"}
	}
	w.rules(&s.HeaderRules)
	for range w.IntN(3) {
		s.Rewrites = append(s.Rewrites, farm.URLRewrite{Pattern: w.one("^/x", "y", "^(.*)$"), Replace: w.one("/z", "/zz", "$1/e", "/%"), Last: w.may(2)})
	}
	for range 1 + w.IntN(4) {
		w.backend++
		ap := netip.MustParseAddrPort(w.addrs[w.IntN(len(w.addrs))])
		s.Backends = append(s.Backends, farm.Backend{
			ID: w.backend, Host: ap.Addr().String(), Addr: ap.Addr(), Port: ap.Port(),
			Weight: uint8(1 + w.IntN(3)), Priority: uint8(1 + w.IntN(3)), ConnLimit: uint32(w.IntN(2) * 50),
			Maintenance: []farm.Maintenance{"", "", "", "", farm.MaintenanceDrain, farm.MaintenanceCut}[w.IntN(6)],
		})
	}
	return s
}

func (w *world) rules(h *farm.HeaderRules) {
	if w.may(3) {
		h.RemoveRequest = l7test.Remove(w.one("^X-A: 1", "^Accept", "json"))
	}
	if w.may(3) {
		h.ReplaceRequest = []farm.HeaderReplace{{Header: w.one("^X-", "accept"), Match: w.one("[0-9]", "(.)(.*)"), Replace: w.one("$2", "new", "")}}
	}
	if w.may(3) {
		h.AddRequest = l7test.Add(w.one("X-Added: 1", "X-Forwarded-Proto: gopher"))
	}
}

func (w *world) farm(h *farm.HTTP) {
	h.Logs = true
	w.rules(&h.HeaderRules)
	h.Verbs = []farm.VerbSet{farm.VerbsStandard, farm.VerbsExtended}[w.IntN(2)]
	if w.may(8) {
		h.CheckURL = w.one("^/[xy]", "^/.{0,9}$")
	}
	if w.may(8) {
		h.MaxHead = 120
	}
	if w.may(4) {
		h.Trusted = l7test.Networks("127.0.0.0/8")
	}
	if w.may(4) {
		h.MaxBody = 2
	}
	h.Continue = []farm.ContinueMode{farm.ContinuePass, farm.ContinueIgnore, farm.ContinueSilent, farm.ContinueNever}[w.IntN(4)]
	h.RewriteHost = w.may(4)
	h.IgnoreCase = w.may(4)
}

const bodyOfThree = "Content-Length: 3"

// request returns a question and the equivalent bytes.
func (w *world) request(services []farm.Service) (q explain.Question, text string) {
	q = explain.Question{Farm: 1, Method: w.one("GET", "GET", "GET", "HEAD", "POST", "PUT"),
		URL: w.one("/", "/", "/", "/x", "/x", "/y", "/x/y", "/X", "/y;sid=1?q=1&sid=2", "/y?sid=2", "/a/../x", "/a.png", "/%78/y", "/x/very/long/path", "/%2e%2e/x", "/b%00")}
	q.Headers = []string{"Host: " + w.one("a.test", "a.test", "A.test:80", "b.test", "b.test", "c", "c.test.", "c.test", "a.test:8080", "a b")}
	s := &services[w.IntN(len(services))]
	named := "Cookie: LB=" + table.CookieValue(s.ID, s.Backends[w.IntN(len(s.Backends))].ID)
	for _, line := range []string{"X-A: 1", "X-A: 2", "Accept: text/html", "Accept: a/json", "X-Stop: 1", "sid: 7", "Authorization: Basic dXNlcjpwYXNz",
		"X-Forwarded-For: 192.0.2.9", "Cookie: sid=9", named} {
		if w.may(4) {
			q.Headers = append(q.Headers, line)
		}
	}
	body := ""
	if strings.HasPrefix(q.Method, "P") && w.may(2) {
		body = "abc"
		q.Headers = append(q.Headers, bodyOfThree)
		if w.may(2) {
			q.Headers = append(q.Headers, "Expect: 100-continue")
		}
	}
	return q, q.Method + " " + q.URL + " HTTP/1.1\r\n" + strings.Join(q.Headers, "\r\n") + "\r\n\r\n" + body
}

// quiet returns an explanation while no exchange is in progress.
func quiet(t *testing.T, a *l7test.Appliance, q explain.Question) (e *explain.Explanation) {
	t.Helper()
	l7test.Eventually(t, "no exchange under way", func() bool {
		var err error
		if e, err = a.Engine.Explain(&q); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		return e.Balance == nil || !slices.ContainsFunc(e.Balance.Backends, func(b explain.Backend) bool { return b.InFlight > 0 })
	})
	return e
}

// TestExplanationsPredictRequests explains requests to random farms, sends them, and
// compares: service, backend, decision, response, and the head received by the backend.
func TestExplanationsPredictRequests(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	w := &world{Rand: rand.New(rand.NewPCG(seed, 1))}
	t.Logf("seed %d", seed)
	for range 3 {
		w.addrs = append(w.addrs, l7test.NewBackend(t, func(c *l7test.Recorder) {
			for {
				head, err := c.Head()
				if err != nil {
					return
				}
				if strings.Contains(head, bodyOfThree) {
					_, _ = io.ReadFull(c, make([]byte, 3))
				}
				if strings.HasPrefix(head, "HEAD") {
					head = ""
				}
				c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(head), head))
			}
		}).Addr)
	}
	outcomes := map[string]int{}
	for i := 0; i < 80 || i < 1000 && missing(outcomes) != ""; i++ {
		// Each on its own appliance: a hundred at once are slow.
		if !t.Run(fmt.Sprint("farm ", i), func(t *testing.T) { farmByChance(t, w, outcomes) }) {
			return
		}
	}
	if o := missing(outcomes); o != "" {
		t.Errorf("never happened: %s (%v)", o, outcomes)
	}
}

// missing returns an outcome that is too rare so far for a meaningful comparison.
func missing(outcomes map[string]int) string {
	for _, o := range []string{explain.Forward, explain.Redirect, explain.Refuse, "algorithm", "session", "cookie"} {
		if outcomes[o] < 3 {
			return o
		}
	}
	return ""
}

func farmByChance(t *testing.T, w *world, outcomes map[string]int) {
	t.Helper()
	w.backend = 0
	a := l7test.New(t, 1)
	var services []farm.Service
	for i := range 1 + w.IntN(4) {
		services = append(services, w.service(i+1))
	}
	if last := &services[len(services)-1]; w.may(2) {
		last.VHost, last.URL, last.HeadRequire, last.HeadDeny = "", "", nil, nil
	}
	addr := a.Serve(w.farm, services...)
	for id := uint32(1); id <= w.backend; id++ {
		if w.may(5) {
			a.Health.SetGuardian(id, health.Down, time.Now())
		}
	}
	records := l7test.RecordsOf(t, a)
	for range 12 {
		q, text := w.request(services)
		e := quiet(t, a, q)
		if again := quiet(t, a, q); again.Result.Decision == "" && fmt.Sprint(again.Result) != fmt.Sprint(e.Result) {
			t.Errorf("repeated: %+v, before %+v", again.Result, e.Result)
		}
		res := l7test.Dial(t, addr).Send(text).Response(q.Method)
		rec := records.Next()
		what := fmt.Sprintf("%q\n%+v\nrecord %+v\nfarm %+v", text, *e, rec, *a.Farm.HTTP)
		outcomes[e.Result.Outcome]++
		outcomes[e.Result.Decision]++
		name := ""
		if rec.Service > 0 {
			name = services[rec.Service-1].Name
		}
		if e.Result.Service != name && !(rec.Service == 0 && e.Result.Outcome == explain.Refuse) {
			t.Fatalf("service %q, explained as %q: %s", name, e.Result.Service, what)
		}
		if e.Result.Outcome != explain.Forward {
			if res.StatusCode != e.Result.Status || res.Header.Get("Location") != e.Result.Location {
				t.Fatalf("answered %d: %s", res.StatusCode, what)
			}
			continue
		}
		if res.StatusCode != 200 || rec.Why.String() != e.Result.Decision {
			t.Fatalf("answered %d because of %s: %s", res.StatusCode, rec.Why, what)
		}
		s := &services[rec.Service-1]
		got := slices.IndexFunc(s.Backends, func(b farm.Backend) bool { return b.ID == rec.Backend })
		byChance := e.Balance.Random || s.Policy == farm.PolicyResponseTime && rec.Why.String() == "algorithm"
		if got != *e.Result.Backend && !(byChance && e.Balance.Backends[got].Might) {
			t.Fatalf("backend %d: %s", got, what)
		}
		if q.Method != "HEAD" && (got == *e.Result.Backend || !a.Farm.HTTP.RewriteHost) {
			compareHeads(t, strings.Split(strings.TrimSuffix(res.Text, "\r\n\r\n"), "\r\n"), e.Head, what)
		}
	}
}

// compareHeads compares the head received by a backend with the explained one, in which
// secrets are masked and the request ID differs.
func compareHeads(t *testing.T, got, explained []string, what string) {
	t.Helper()
	if len(got) != len(explained) {
		t.Fatalf("the backend got %q: %s", got, what)
	}
	for i := range got {
		name, _, _ := strings.Cut(got[i], ": ")
		same := got[i] == explained[i] || strings.HasPrefix(explained[i], "X-Request-Id: ") && name == "X-Request-Id"
		if !same && explained[i] != name+": ***" {
			t.Fatalf("the backend got %q, explained as %q: %s", got[i], explained[i], what)
		}
	}
}
