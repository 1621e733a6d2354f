package proxy_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/l7test"
)

var logs = l7test.Logged

// classOf returns the rejection class of a record.
func classOf(a *l7test.Appliance, l l7test.Record) string {
	if l.Rejection == 0 {
		return ""
	}
	return a.Segment.Classes()[l.Rejection-1]
}

func TestExchangeLeavesARecord(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nabc"))
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		h.Logs, h.AccessLog.Headers = true, []string{"X-One", "X-None", "Accept"}
	}, l7test.Service("web", b.Addr))
	r := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, addr)
	request := "POST /a//b?q=1 HTTP/1.1\r\nHost: A.test\r\nUser-Agent: cu/rl\r\nReferer: http://r/\r\nX-ONE: 1\r\nAccept: a\r\nContent-Length: 5\r\n\r\nhello"
	before := time.Now().Add(-time.Second)
	for i, reused := range []bool{false, true} {
		answer := c.Send(request).Response("POST")
		l := r.Next()
		if l.Method != "POST" || l.Host != "a.test" || l.Path != "/a//b?q=1" || l.Agent != "cu/rl" || l.Referer != "http://r/" ||
			l.Header != "x-one=1;accept=a;" || l.Client != "127.0.0.1" || len(l.ID) != accesslog.RequestIDSize {
			t.Errorf("texts: %+v", l)
		}
		if l.Status != 201 || l.Farm != 1 || l.Service != 1 || l.Backend != 1 || l.Proto != accesslog.ProtoHTTP11 || l.Tries != 1 || l.Rejection != 0 {
			t.Errorf("numbers: %+v", l)
		}
		if l.Flags.Has(accesslog.Reused) != reused || !l.Flags.Has(accesslog.Logged) || l.Flags&^(accesslog.Logged|accesslog.Reused) != 0 {
			t.Errorf("exchange %d: flags %v (%b)", i, l.Flags, l.Flags)
		}
		if at := time.Unix(0, l.Time); at.Before(before) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("time %v", at)
		}
		if l.Total < l.FirstByte || l.FirstByte < l.Response || l.Response <= 0 || (l.Connect > 0) == reused || l.Total > int64(time.Minute) {
			t.Errorf("durations %+v", l.Exchange)
		}
		head := 0
		for name, values := range answer.Header {
			head += len(name) + len(values[0]) + 4
		}
		if want := len("HTTP/1.1 201 Created\r\n\r\n") + head + 3; int(l.BytesOut) != want || int(l.BytesIn) != len(request) {
			t.Errorf("%d bytes in, %d out, want %d and %d", l.BytesIn, l.BytesOut, len(request), want)
		}
	}
	if r.Drain(); len(r.Came) > 0 {
		t.Errorf("more records: %+v", r.Came)
	}
}

func TestOnlyWantedExchangesAreRecorded(t *testing.T) {
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	r := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, addr)
	c.Send(get("/quiet")).Get()
	a.Records.Watch(1, true)
	c.Send(get("/watched")).Get()
	if l := r.Next(); l.Path != "/watched" || !l.Flags.Has(accesslog.Watched) || l.Flags.Has(accesslog.Logged) {
		t.Errorf("%+v", l)
	}
	a.Records.Watch(1, false)
	a.Serve(func(h *farm.HTTP) { h.Logs, h.AccessLog.Sample = true, 10 }, l7test.Service("web", b.Addr))
	for range 1000 {
		c.Send(get("/sampled")).Get()
		r.Drain()
	}
	if n := len(r.Came); n < 50 || n > 200 {
		t.Errorf("%d of 1000 exchanges, want one in ten", n)
	}
}

func TestGeneratedResponsesAreRecordedWithTheirClass(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"))
	redirect := farm.Service{ID: 7, Name: "old", URL: "^/old", Redirect: "http://new.test/"}
	web := l7test.Service("web", b.Addr)
	web.URL = "^/web"
	none := farm.Service{ID: 9, Name: "none", URL: "^/none"}
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) { logs(h); familyVerbs(h) }, redirect, web, none)
	for _, c := range []struct {
		request, class, reason, path string
		status                       uint16
		service                      uint32
		flags                        accesslog.Flags
	}{
		{get("/old"), "", "", "/old", 302, 7, accesslog.Own | accesslog.Redirected},
		{get("/nobody"), "no-service", "no service matches", "/nobody", 503, 0, accesslog.Own},
		{get("/none"), "no-backend", "the service has no backend", "/none", 503, 9, accesslog.Own},
		{get("/web"), "bad-answer", "malformed Content-Length", "/web", 502, 1, accesslog.Own},
		{"BREW /web HTTP/1.1\r\nHost: a.test\r\n\r\n", "bad-method", "method not in the set of the farm", "/web", 501, 0, accesslog.Own},
		{"GET /web HTTP/1.1\r\nbad line\r\n\r\n", "bad-request", "malformed field name", "", 400, 0, accesslog.Own},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "request-smuggling", "Transfer-Encoding with Content-Length", "", 400, 0, accesslog.Own},
	} {
		t.Run(fmt.Sprint(c.status, c.class), func(t *testing.T) {
			r := l7test.RecordsOf(t, a)
			client := l7test.Dial(t, addr)
			res := client.Send(c.request).Get()
			l := r.Next()
			if l.Status != c.status || int(l.Status) != res.StatusCode || classOf(a, l) != c.class || l.Reason != c.reason || l.Path != c.path || l.Service != c.service {
				t.Errorf("status %d for %d, class %q, reason %q, path %q, service %d", l.Status, res.StatusCode, classOf(a, l), l.Reason, l.Path, l.Service)
			}
			if l.Flags&^accesslog.Logged != c.flags || l.BytesOut == 0 {
				t.Errorf("flags %v, %d bytes out", l.Flags, l.BytesOut)
			}
		})
	}
	sum := a.Segment.SumRejections(1)
	for name, want := range map[string]uint64{"bad-answer": 1, "bad-method": 1, "bad-request": 1, "request-smuggling": 1, "timeout": 0} {
		if got := sum[slices.Index(a.Segment.Classes(), name)]; got != want {
			t.Errorf("%s is counted %d times, want %d", name, got, want)
		}
	}
}

func TestRecordNamesTheSideThatEndedAnExchange(t *testing.T) {
	t.Parallel()
	half := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
		}
	})
	mute := l7test.NewBackend(t, func(c *l7test.Recorder) { // except for the first request
		if _, err := c.Head(); err == nil {
			c.Say(ok)
		}
		_, _ = c.Head()
		_, _ = io.Copy(io.Discard, c.TCPConn)
	})
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)

	c := l7test.Dial(t, a.Serve(logs, l7test.Service("web", half.Addr)))
	c.Send(get("/half"))
	c.Rest()
	if l := r.Next(); l.Flags&^accesslog.Logged != accesslog.AbortedByBackend || l.Status != 200 || classOf(a, l) != "cut-answer" {
		t.Errorf("cut by the backend: %v, status %d, %s", l.Flags, l.Status, classOf(a, l))
	}

	service := l7test.Service("web", mute.Addr)
	service.Backends[0].ID = 2
	c = l7test.Dial(t, a.Serve(logs, service))
	c.Send(get("/first")).Get() // the loop monitors the client from now on
	r.Next()
	c.Send(get("/left"))
	l7test.Eventually(t, "the request at the backend", func() bool { return strings.Contains(mute.Received(), "/left") })
	_ = c.SetLinger(0)
	_ = c.Close()
	if l := r.Next(); l.Flags&^(accesslog.Logged|accesslog.Reused) != accesslog.AbortedByClient || l.Status != 0 || l.Total <= 0 {
		t.Errorf("left by the client: %v, status %d, %d ns", l.Flags, l.Status, l.Total)
	}

	c = l7test.Dial(t, a.Serve(logs, service))
	c.Send(get("/first")).Get()
	r.Next()
	c.Send(get("/cut"))
	l7test.Eventually(t, "the request at the backend", func() bool { return strings.Contains(mute.Received(), "/cut") })
	service.Backends[0].Maintenance = farm.MaintenanceCut
	a.Serve(logs, service)
	if l := r.Next(); l.Flags&^(accesslog.Logged|accesslog.Reused) != accesslog.AbortedHere || l.Backend != 2 {
		t.Errorf("cut by the operator: %v, backend %d", l.Flags, l.Backend)
	}
}

func TestRecordCountsTheBackendsThatWereTried(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, a.Serve(logs, l7test.Service("web", "127.0.0.1:1", b.Addr)))
	for range 2 { // one of the two tries the missing backend first
		c.Send(get("/")).Get()
	}
	one, two := r.Next(), r.Next()
	if one.Tries+two.Tries != 3 || one.Backend != 2 || two.Backend != 2 {
		t.Fatalf("%d and %d tries, backends %d and %d", one.Tries, two.Tries, one.Backend, two.Backend)
	}
	if one.Flags.Has(accesslog.Retried) == two.Flags.Has(accesslog.Retried) {
		t.Errorf("flags %v and %v", one.Flags, two.Flags)
	}
}

func TestTunnelIsRecordedAtItsEnd(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(c.TCPConn, c.Unrecorded())
		}
	})
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, a.Serve(logs, l7test.Service("web", b.Addr)))
	request := "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
	c.Send(request)
	c.Send(strings.Repeat("x", 1000))
	buf := make([]byte, 4096)
	for n := 0; n < 1000; {
		some, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(buf[:some]), "x")
	}
	_ = c.CloseWrite()
	c.Rest()
	l := r.Next()
	if l.Flags&^accesslog.Logged != accesslog.Tunnel || l.Status != 101 || l.BytesIn != uint64(len(request)+1000) || l.BytesOut < 1000 {
		t.Errorf("flags %v, status %d, %d in, %d out", l.Flags, l.Status, l.BytesIn, l.BytesOut)
	}
}

func TestRecordKnowsTheClientsTLS(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, l7test.Answer(ok))
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	secure := a.HTTPS(l7test.Certificate(t, "ec.pem", "a.test"))
	addr := a.Serve(func(h *farm.HTTP) { secure(h); h.Logs = true }, l7test.Service("web", b.Addr))
	c := browser(t, addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	res, err := c.Get("https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if l := r.Next(); l.TLSVersion != res.TLS.Version || l.Cipher != res.TLS.CipherSuite || l.Cipher == 0 {
		t.Errorf("version %x, cipher %x", l.TLSVersion, l.Cipher)
	}
	l7test.Dial(t, addr).Send(get("/plain")).Rest()
	if l := r.Next(); l.Status != 400 || l.TLSVersion != 0 || classOf(a, l) != "bad-request" || l.Path != "" {
		t.Errorf("plain HTTP: %+v", l)
	}
}

func TestRejectionIsOfTheExchangeItBelongsTo(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	none := farm.Service{ID: 9, Name: "none", URL: "^/none"}
	addr := a.Serve(logs, none)
	r := l7test.RecordsOf(t, a)
	half := l7test.Dial(t, addr)
	half.Send("GET /half HTTP/1.1\r\nHo")
	_ = half.CloseWrite()
	half.Rest()
	l7test.Dial(t, addr).Send(get("/nobody")).Get()
	if l := r.Next(); l.Path != "/nobody" || classOf(a, l) != "no-service" {
		t.Errorf("path %q, class %q", l.Path, classOf(a, l))
	}
}

// networks parses prefixes.
var networks = l7test.Networks

var anID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// idsAt returns the request IDs received by a backend.
func idsAt(b *l7test.Backend) (ids []string) {
	for l := range strings.SplitSeq(b.Received(), "\r\n") {
		if name, value, ok := strings.Cut(l, ": "); ok && strings.EqualFold(name, "X-Request-Id") {
			ids = append(ids, value)
		}
	}
	return ids
}

func TestRequestIDIsMadeUnlessATrustedPeerSendsOne(t *testing.T) {
	t.Parallel()
	const theirs = "X-Request-ID: from-outside"
	for _, c := range []struct {
		name    string
		edit    func(h *farm.HTTP)
		request string
		backend string // ID at the backend: made, theirs or none
		client  bool   // whether the client gets the same
	}{
		{"off", func(*farm.HTTP) {}, request(theirs), "theirs", false},
		{"asked for by the log", logs, request(theirs), "made", false},
		{"not asked for by the log", func(h *farm.HTTP) { h.Logs, h.AccessLog.Format = true, farm.LogCombined }, request(), "none", false},
		{"to backends", func(h *farm.HTTP) { h.RequestID = farm.RequestIDBackend }, request(theirs), "made", false},
		{"to both", func(h *farm.HTTP) { h.RequestID = farm.RequestIDBoth }, request(), "made", true},
		{"trusted", func(h *farm.HTTP) {
			h.RequestID, h.Trusted = farm.RequestIDBoth, networks("127.0.0.0/8")
		}, request(theirs), "theirs", true},
		{"trusted, but no id", func(h *farm.HTTP) {
			h.RequestID, h.Trusted = farm.RequestIDBoth, networks("127.0.0.0/8")
		}, request("X-Request-Id: a b\"c"), "made", true},
		{"somebody else is trusted", func(h *farm.HTTP) {
			h.RequestID, h.Trusted = farm.RequestIDBackend, networks("10.0.0.0/8", "::1/128")
		}, request(theirs, theirs), "made", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 200 OK\r\nX-Request-Id: of the backend\r\nContent-Length: 2\r\n\r\nok"))
			client := l7test.Dial(t, l7test.New(t, 1).Serve(c.edit, l7test.Service("web", b.Addr)))
			var seen []string
			for range 2 {
				res := client.Send(c.request).Get()
				seen = idsAt(b)
				if got := res.Header.Values("X-Request-Id"); c.client && !slices.Equal(got, seen[len(seen)-1:]) {
					t.Errorf("the client got %q, the backend %q", got, seen)
				} else if !c.client && !slices.Equal(got, []string{"of the backend"}) {
					t.Errorf("the client got %q", got)
				}
			}
			made := 0
			for _, id := range seen {
				if anID.MatchString(id) {
					made++
				}
			}
			switch c.backend {
			case "made":
				if len(seen) != 2 || made != 2 || seen[0] == seen[1] {
					t.Errorf("the backend got %q", seen)
				}
			case "theirs":
				if !slices.Equal(seen, []string{"from-outside", "from-outside"}) {
					t.Errorf("the backend got %q", seen)
				}
			case "none":
				if len(seen) != 0 {
					t.Errorf("the backend got %q", seen)
				}
			}
		})
	}
}

func TestAnswersOfOurOwnCarryTheRequestID(t *testing.T) {
	t.Parallel()
	for ids, told := range map[farm.RequestID]bool{farm.RequestIDBoth: true, farm.RequestIDBackend: false} {
		a := l7test.New(t, 1)
		r := l7test.RecordsOf(t, a)
		c := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.Logs, h.RequestID = true, ids }, l7test.Service("web", "127.0.0.1:1")))
		res := c.Send(get("/")).Get()
		l, want := r.Next(), []string(nil)
		if told {
			want = []string{l.ID}
		}
		if got := res.Header.Values("X-Request-Id"); res.StatusCode != 503 || !anID.MatchString(l.ID) || !slices.Equal(got, want) || !strings.Contains(res.Text, "not available") {
			t.Errorf("ids for %s: status %d, id %q in the answer and %q in the record, text %q", ids, res.StatusCode, got, l.ID, res.Text)
		}
	}
}

func TestAnswersToAuthoritiesAreCountedAndRecorded(t *testing.T) {
	t.Parallel()
	a := l7test.New(t, 1)
	r := l7test.RecordsOf(t, a)
	addr := a.Serve(logs, l7test.Service("web", "127.0.0.1:1"))
	a.Publish(farm.Config{Farms: []farm.Farm{a.Farm}, Challenges: []farm.Challenge{{Token: "abc", Answer: "abc.def"}}})
	c := l7test.Dial(t, addr)
	for method, want := range map[string]string{"GET": "abc.def", "HEAD": ""} {
		res := c.Send(method + " " + farm.ChallengePath + "abc HTTP/1.1\r\nHost: a.test\r\n\r\n").Response(method)
		if res.StatusCode != 200 || res.Text != want || res.ContentLength != 7 || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: status %d %q of %d bytes, %v", method, res.StatusCode, res.Text, res.ContentLength, res.Header)
		}
		if l := r.Next(); l.Status != 200 || l.Method != method || l.Path != farm.ChallengePath+"abc" || l.Rejection != 0 {
			t.Errorf("%s: recorded %+v", method, l)
		}
	}
	if n := a.Segment.SumFarm(1); n.Responses[1] != 2 || n.Requests != 2 || n.NoBackend != 0 {
		t.Errorf("counted %+v", n)
	}
}

func TestTimesOfExchangesAreCounted(t *testing.T) {
	t.Parallel()
	head := make(chan bool) // closed when the client has the head, which proves that the first byte was forwarded
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
			<-head
			time.Sleep(20 * time.Millisecond)
			c.Say("ok")
		}
	})
	a := l7test.New(t, 1)
	c := l7test.Dial(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	for range 3 {
		res, err := http.ReadResponse(c.Send(get("/")).Reader(), nil)
		if err != nil {
			t.Fatal(err)
		}
		head <- true
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
	}
	l7test.Eventually(t, "three totals", func() bool { sum := a.Segment.SumFarmTimes(1); return sum.Total.Count() == 3 })
	for name, times := range map[string]stats.Times{"farm": a.Segment.SumFarmTimes(1), "backend": a.Segment.SumBackendTimes(1)} {
		first, total := times.FirstByte, times.Total
		if first.Count() != 3 || total.Count() != 3 || first.Nanos < 3*20e6 || total.Nanos < first.Nanos+3*20e6 || total.Nanos > 60e9 {
			t.Errorf("%s: first byte %d in %d ns, total %d in %d ns", name, first.Count(), first.Nanos, total.Count(), total.Nanos)
		}
	}
}
