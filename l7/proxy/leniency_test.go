package proxy_test

import (
	"io"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// deviations are responses accepted by a name in backend_leniency.
// TestEachDeviationNeedsItsLeniency in http1 compares their grammar with HAProxy
// and nginx.
var deviations = []struct {
	name   farm.Leniency
	says   string
	status int
	kept   bool // the backend connection is reusable
}{
	{farm.LenientCoding, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", 200, true},
	{farm.LenientIdentity, "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nok", 200, false},
	{farm.LenientChunkSize, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nok\r\n0\t\r\n\r\n", 200, true},
	{farm.LenientStatus, "HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok", 799, true},
	{farm.LenientStatusLine, "HTTP/1.2  200 OK\r\nContent-Length: 2\r\n\r\nok", 200, true},
	{farm.LenientLineEnd, "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, true},
	{farm.LenientNameBlank, "HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 2\r\n\r\nok", 200, true},
	{farm.LenientNameByte, "HTTP/1.1 200 OK\r\nX(: y\r\nContent-Length: 2\r\n\r\nok", 200, true},
	{farm.LenientControl, "HTTP/1.1 200 OK\r\nX: y\x01\r\nContent-Length: 2\r\n\r\nok", 200, true},
	{farm.LenientConnection, "HTTP/1.1 200 OK\r\nConnection: a;b\r\nContent-Length: 2\r\n\r\nok", 200, false},
}

func TestEveryDeviationIsTried(t *testing.T) {
	for _, name := range farm.Leniencies()[1:] {
		tried := false
		for _, c := range deviations {
			tried = tried || c.name == name
		}
		if !tried {
			t.Errorf("%s is not", name)
		}
	}
}

// lenient is a service with logging that accepts deviations.
func lenient(addr string, names ...farm.Leniency) farm.Service {
	s := l7test.Service("web", addr)
	s.Leniency = names
	return s
}

// deviating responds with says. A body without length ends the connection.
func deviating(t *testing.T, says string, kept bool) *l7test.Backend {
	return l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			if _, err := c.Head(); err != nil {
				return
			}
			if c.Say(says); !kept {
				return
			}
		}
	})
}

func TestADeviationIsAcceptedWhereTheServiceNamesIt(t *testing.T) {
	for _, c := range deviations {
		for _, name := range []farm.Leniency{c.name, farm.LenientAll} {
			t.Run(string(c.name)+"/"+string(name), func(t *testing.T) {
				t.Parallel()
				b := deviating(t, c.says, c.kept)
				a := l7test.New(t, 1)
				addr := a.Serve(nil, lenient(b.Addr, name))
				h2 := l7test.HTTP2Client(t, addr, false)
				for range 2 {
					if res := answerTo(t, addr, get("/")); res.StatusCode != c.status || res.Text != "ok" {
						t.Fatalf("HTTP/1: %d %q", res.StatusCode, res.Text)
					}
					res, err := h2.Get("http://" + addr)
					if err != nil {
						t.Fatal(err)
					}
					if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != c.status || string(text) != "ok" {
						t.Fatalf("HTTP/2: %d %q, %v", res.StatusCode, text, err)
					}
				}
				if n := b.Accepted(); c.kept && n != 1 || !c.kept && n != 4 {
					t.Errorf("%d connections to the backend", n)
				}
				s := a.Segment.SumBackend(1)
				if s.BadResponses != 0 || s.Responses[min(c.status/100, 5)-1] != 4 {
					t.Errorf("counted %+v", s)
				}
			})
		}
	}
}

func TestARejectedDeviationIsNamed(t *testing.T) {
	for _, c := range deviations {
		t.Run(string(c.name), func(t *testing.T) {
			t.Parallel()
			others := make([]farm.Leniency, 0, len(deviations))
			for _, d := range deviations {
				if d.name != c.name {
					others = append(others, d.name)
				}
			}
			b := deviating(t, c.says, c.kept)
			a := l7test.New(t, 1)
			addr := a.Serve(l7test.Logged, lenient(b.Addr, others...))
			records := l7test.RecordsOf(t, a)
			if res := answerTo(t, addr, get("/")); res.StatusCode != 502 && c.name != farm.LenientChunkSize {
				t.Fatalf("answer %d %q", res.StatusCode, res.Text)
			}
			if l := records.Next(); !strings.Contains(l.Reason, "(backend_leniency: "+string(c.name)+")") {
				t.Errorf("the reason is %q", l.Reason)
			}
		})
	}
}

func TestAStatusAbove599OfAnHTTP2BackendNeedsLeniency(t *testing.T) {
	t.Parallel()
	addr, _ := l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		for {
			id, path := s.Request()
			if path == "" {
				return
			}
			s.Head(id, true, "600")
		}
	})
	for want, names := range map[int][]farm.Leniency{502: nil, 600: {farm.LenientStatus}} {
		a := l7test.New(t, 1)
		s := l7test.HTTP2Service(false, addr)
		s.Leniency = names
		if res := answerTo(t, a.Serve(nil, s), get("/")); res.StatusCode != want {
			t.Errorf("%v: answer %d, want %d", names, res.StatusCode, want)
		}
	}
}
