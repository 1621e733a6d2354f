package load_test

import (
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/measure"
)

// serve runs a backend and returns its address and its counters.
func serve(t *testing.T) (netip.AddrPort, func() backend.Counters) {
	t.Helper()
	s, err := backend.Listen(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reports, done := make(chan backend.Counters, 1), make(chan error)
	go func() { done <- s.Serve(int(r.Fd()), func(c backend.Counters) { reports <- c }) }()
	t.Cleanup(func() {
		w.Close()
		if err := <-done; err != nil {
			t.Error("backend:", err)
		}
		r.Close()
	})
	counters := func() backend.Counters {
		_, _ = w.WriteString("?\n")
		return <-reports
	}
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), s.Port()), counters
}

func spec(to netip.AddrPort) load.Spec {
	return load.Spec{
		Target: to, Connections: 8, Method: "GET", Path: "/128", Host: "bench.example.org", Expect: backend.Small,
		Duration: 50 * time.Millisecond, Patience: 5 * time.Second,
	}
}

// run runs one warm-up and one slice.
func run(t *testing.T, s load.Spec) load.Result {
	t.Helper()
	c, err := load.NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WarmUp(); err != nil {
		t.Fatal(err)
	}
	result, err := c.Run()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestEveryKindOfLoadSucceeds(t *testing.T) {
	to, counters := serve(t)
	for name, edit := range map[string]func(*load.Spec){
		"small":  func(s *load.Spec) {},
		"medium": func(s *load.Spec) { s.Path, s.Expect = "/some/app/10k", backend.Medium },
		"large":  func(s *load.Spec) { s.Path, s.Expect = "/1m", backend.Large },
		"post":   func(s *load.Spec) { s.Method, s.Body = "POST", 10<<10 },
		"new":    func(s *load.Spec) { s.New = true },
		"paced":  func(s *load.Spec) { s.Rate = 1000 },
		"narrow": func(s *load.Spec) { s.Parallel = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(to)
			edit(&s)
			before := counters()
			result := run(t, s)
			after := counters()
			var h measure.Histogram
			h.Add(result.Latency)
			if result.Errors != 0 || result.Requests == 0 || h.Count() != result.Requests {
				t.Fatalf("%d requests, %d latencies, errors %v", result.Requests, h.Count(), result.Causes)
			}
			if want := result.Requests * uint64(s.Expect); result.BytesIn != want {
				t.Errorf("got %d bytes, want %d", result.BytesIn, want)
			}
			// The warm-up is one request per connection.
			if got := after.Requests - before.Requests; got != result.Requests+uint64(s.Connections) {
				t.Errorf("backend answered %d, client counts %d and %d of warm-up", got, result.Requests, s.Connections)
			}
			if opened := after.Accepted - before.Accepted; s.New != (opened > uint64(s.Connections)) {
				t.Errorf("%d connections", opened)
			}
		})
	}
}

func TestPacedRequestsKeepTheRate(t *testing.T) {
	to, _ := serve(t)
	s := spec(to)
	s.Rate, s.Duration = 2000, 100*time.Millisecond
	if got := run(t, s).Requests; got < 150 || got > 201 {
		t.Errorf("%d requests instead of 200", got)
	}
}

// scripted responds to the first request of every connection with the given bytes and
// closes it.
func scripted(t *testing.T, answers ...string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			for _, a := range answers {
				if _, err := c.Read(buf); err != nil {
					break
				}
				_, _ = io.WriteString(c, a)
			}
			c.Close()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

const right = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"

func TestWrongAnswersAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ answer, cause string }{
		"status":  {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nhello", "status"},
		"chunked": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "content-length"},
		"length":  {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell", "length"},
		"extra":   {right + "x", "after the end"},
		"early":   {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "ended"},
		"nothing": {"", "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(scripted(t, right, c.answer))
			s.Connections, s.Expect, s.Duration = 1, 5, 20*time.Millisecond
			result := run(t, s)
			found := false
			for cause := range result.Causes {
				found = found || strings.Contains(cause, c.cause)
			}
			if result.Errors == 0 || !found {
				t.Errorf("%d errors %v", result.Errors, result.Causes)
			}
		})
	}
}

func TestAWrongPathFailsTheWarmUp(t *testing.T) {
	to, _ := serve(t)
	s := spec(to)
	s.Path = "/nothing"
	c, err := load.NewClient(s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WarmUp(); err == nil || !strings.Contains(err.Error(), "status") {
		t.Errorf("%v", err)
	}
}

func TestASplitHeadIsPutTogether(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			for _, part := range []string{right[:9], right[9:30], right[30:]} {
				_, _ = io.WriteString(c, part)
				time.Sleep(time.Millisecond)
			}
		}
	}()
	s := spec(netip.MustParseAddrPort(l.Addr().String()))
	s.Connections, s.Expect = 1, 5
	if result := run(t, s); result.Errors != 0 || result.Requests == 0 {
		t.Errorf("%d requests, errors %v", result.Requests, result.Causes)
	}
}

func TestTheProcessSpeaksItsProtocol(t *testing.T) {
	to, _ := serve(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error)
	go func() { done <- load.Main(inR, outW) }()
	lines := json.NewDecoder(outR)
	if err := json.NewEncoder(inW).Encode(spec(to)); err != nil {
		t.Fatal(err)
	}
	var state load.State
	if err := lines.Decode(&state); err != nil || !state.Ready {
		t.Fatalf("%+v, %v", state, err)
	}
	for range 2 {
		_, _ = io.WriteString(inW, "go\n")
		var result load.Result
		if err := lines.Decode(&result); err != nil || result.Requests == 0 {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
