package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// limited is a service with a limit that the test exhausts at once.
func limited(b *l7test.Backend, limit farm.RateLimit) farm.Service {
	s := l7test.Service("web", b.Addr)
	s.RateLimit = &limit
	return s
}

// hourly allows that many requests, and no further ones during a test.
func hourly(requests uint32) farm.RateLimit {
	return farm.RateLimit{Requests: requests, Period: 3600}
}

func TestRequestsBeyondTheLimitAreAnswered429(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(logs, limited(b, hourly(3))))
	for i := range 3 {
		if res := c.Send(get("/")).Get(); res.StatusCode != 200 {
			t.Fatalf("request %d got %d", i, res.StatusCode)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		res := c.Send(method + " / HTTP/1.1\r\nHost: a.test\r\n\r\n").Response(method)
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != 429 || err != nil || after < 1199 || after > 1200 || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s got %d, %v", method, res.StatusCode, res.Header)
		}
		if want := "There were too many requests. Please try again later.\n"; method == "GET" && res.Text != want {
			t.Errorf("the body is %q", res.Text)
		}
	}
	if n := strings.Count(b.Received(), "GET /"); n != 3 {
		t.Errorf("the backend got %d requests, want 3", n)
	}
	lines := l7test.RecordsOf(t, a)
	for i := range 5 {
		l := lines.Next()
		if refused := i >= 3; refused != (classOf(a, l) == "rate-limited") || refused != (l.Status == 429) || l.Service != 1 {
			t.Errorf("record %d: status %d, class %q, service %d", i, l.Status, classOf(a, l), l.Service)
		}
	}
	l7test.Eventually(t, "each rejection leaves a line", func() bool { return len(a.Log.Lines("rate-limited")) == 2 })
}

func TestAClientThatWaitsAsItWasToldPasses(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, limited(b, farm.RateLimit{Requests: 1, Period: 1})))
	c.Send(get("/")).Get()
	res := c.Send(get("/")).Get()
	if res.StatusCode != 429 || res.Header.Get("Retry-After") != "1" {
		t.Fatalf("got %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	time.Sleep(time.Second) // the time in Retry-After
	if res := c.Send(get("/")).Get(); res.StatusCode != 200 {
		t.Errorf("got %d after the time in Retry-After", res.StatusCode)
	}
}

func TestExactlyTheLimitPassesOverAllLoops(t *testing.T) {
	t.Parallel()
	const limit = 100
	b := l7test.NewBackend(t, l7test.Answer(ok))
	addr := l7test.New(t, 2).Serve(nil, limited(b, hourly(limit)))
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 { // several connections, so that both loops have some
				c := l7test.Dial(t, addr)
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				for range 10 {
					if c.Send(get("/")).Get().StatusCode == 200 {
						passed.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != limit {
		t.Errorf("%d requests passed, want %d", n, limit)
	}
}

func TestRequestsAreCountedByTheirKey(t *testing.T) {
	t.Parallel()
	header := func(l farm.RateLimit) farm.RateLimit {
		l.Key, l.Header = farm.RateKeyHeader, "X-Customer"
		return l
	}
	forwarded := func(l farm.RateLimit) farm.RateLimit {
		l.Key, l.Header = farm.RateKeyHeader, "X-Forwarded-For"
		return l
	}
	path := func(l farm.RateLimit) farm.RateLimit { l.Key = farm.RateKeyPath; return l }
	from := func(addr string) string { return request("X-Forwarded-For: " + addr) }
	for name, c := range map[string]struct {
		limit   farm.RateLimit
		trusts  string
		request []string
		want    string
	}{
		"address":                        {hourly(1), "", []string{get("/"), get("/b")}, "200 429"},
		"not believed":                   {hourly(1), "", []string{from("192.0.2.1"), from("192.0.2.2")}, "200 429"},
		"whom a trusted peer speaks for": {hourly(1), "127.0.0.0/8", []string{from("192.0.2.1"), from("192.0.2.2"), from("192.0.2.1"), get("/")}, "200 200 429 200"},
		"of IPv6 the /64":                {hourly(1), "127.0.0.0/8", []string{from("2001:db8::1"), from("2001:db8::ffff:2"), from("2001:db8:0:1::1")}, "200 429 200"},
		"header":                         {header(hourly(1)), "", []string{request("x-customer: a"), request("X-Customer: b"), request("X-Customer: a")}, "200 200 429"},
		"without it the address":         {header(hourly(1)), "", []string{get("/"), request("X-Customer:"), request("X-Customer: a")}, "200 429 200"},
		"forgeable header":               {forwarded(hourly(1)), "", []string{from("192.0.2.1"), from("192.0.2.2")}, "200 429"},
		"header of a trusted peer":       {forwarded(hourly(1)), "127.0.0.0/8", []string{from("192.0.2.1"), from("192.0.2.2"), from("192.0.2.1")}, "200 200 429"},
		"path":                           {path(hourly(1)), "", []string{get("/a?x=1"), get("/b"), get("/a?x=2"), get("/./a"), get("/%61")}, "200 200 429 429 429"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, l7test.Answer(ok))
			client := l7test.Dial(t, l7test.New(t, 1).Serve(func(h *farm.HTTP) { h.Trusted = networks(strings.Fields(c.trusts)...) }, limited(b, c.limit)))
			var got []string
			for _, r := range c.request {
				got = append(got, fmt.Sprint(client.Send(r).Get().StatusCode))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestRateLimitStateOutlivesReloadsUnlessTheLimitChanges(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	ask := func(s farm.Service) int {
		return l7test.Dial(t, a.Serve(nil, s)).Send(get("/")).Get().StatusCode
	}
	if first, second := ask(limited(b, hourly(1))), ask(limited(b, hourly(1))); first != 200 || second != 429 {
		t.Errorf("got %d, then %d after a reload", first, second)
	}
	for i, want := range []int{200, 200, 429} {
		if code := ask(limited(b, hourly(2))); code != want {
			t.Errorf("request %d under a higher limit: %d", i, code)
		}
	}
	for i, want := range []int{200, 429} {
		if code := ask(limited(b, hourly(1))); code != want {
			t.Errorf("request %d under the lower one again: %d", i, code)
		}
	}
	if code := ask(l7test.Service("web", b.Addr)); code != 200 {
		t.Errorf("without a limit: %d", code)
	}
	other := limited(b, hourly(1))
	other.ID = 7
	if code := ask(other); code != 200 {
		t.Errorf("another service: %d", code)
	}
}

func TestARedirectHasItsLimitToo(t *testing.T) {
	t.Parallel()
	limit := hourly(1)
	s := farm.Service{ID: 1, Name: "moved", Redirect: "https://b.test/", RateLimit: &limit}
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
	if first, second := c.Send(get("/")).Get().StatusCode, c.Send(get("/")).Get().StatusCode; first != 302 || second != 429 {
		t.Errorf("got %d and %d", first, second)
	}
}

// The body of a refused request is not read, so the connection ends.
func TestARefusedRequestWithABodyEndsItsConnection(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, limited(b, hourly(1))))
	c.Send(get("/")).Get()
	res := c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 30\r\n\r\nGET /smuggled HTTP/1.1").Response("POST")
	if res.StatusCode != 429 || !res.Close {
		t.Errorf("got %d, closing %v", res.StatusCode, res.Close)
	}
	if rest := c.Rest(); rest != "" || strings.Contains(b.Received(), "smuggled") {
		t.Errorf("more came: %q", rest)
	}
}

func TestStreamsOfHTTP2AreLimited(t *testing.T) {
	t.Parallel()
	l7test.EachWay(t, l7test.Echo, func(t *testing.T, _ *l7test.Appliance, c *http.Client, url string) {
		var got []string
		for range 3 {
			res, err := c.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			got = append(got, res.Status)
			if res.StatusCode == 429 && (res.Header.Get("Retry-After") != "1800" || !strings.HasPrefix(string(body), "There were")) {
				t.Errorf("%v %q", res.Header, body)
			}
		}
		if fmt.Sprint(got) != "[200 OK 200 OK 429 Too Many Requests]" {
			t.Errorf("got %v", got)
		}
	}, func(h *farm.HTTP) {
		limit := hourly(2)
		h.Services[0].RateLimit = &limit
	})
}
