package proxy_test

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// counted returns the nonzero counters, except times.
func counted(counters any) string {
	var out []string
	v := reflect.ValueOf(counters)
	for i := range v.NumField() {
		name, f := v.Type().Field(i).Name, v.Field(i)
		if f.IsZero() || name == "_" || strings.HasSuffix(name, "Nanos") {
			continue
		}
		out = append(out, fmt.Sprintf("%s %v", name, f))
	}
	return strings.Join(out, ", ")
}

func TestExchangesAreCountedWhole(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
	const chunked = "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
	advance := func(a *l7test.Appliance, d time.Duration) { enginetest.Advance(a.Loops[0], d) }
	for _, c := range []struct {
		name           string
		says           []string // parts sent by the backend for one request
		edit           func(s *farm.Service)
		meet           func(a *l7test.Appliance, b *l7test.Backend, c *l7test.Client)
		farms, backend string
	}{
		{"a GET", []string{answer + "0123456789"}, nil, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 1 0 0 0], BytesIn 32, BytesOut 49",
			"Requests 1, Responses [0 1 0 0 0], BytesIn 49, BytesOut 162, Connects 1"},
		{"two on one connection", []string{answer + "0123456789"}, nil, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 2, Responses [0 2 0 0 0], BytesIn 64, BytesOut 98",
			"Requests 2, Responses [0 2 0 0 0], BytesIn 98, BytesOut 324, Connects 1, Reuses 1"},
		{"bodies in parts", []string{answer + "01234", "56789"}, nil, func(a *l7test.Appliance, b *l7test.Backend, c *l7test.Client) {
			c.Send(chunked)
			l7test.Eventually(t, "the head is there", func() bool { return strings.Contains(b.Received(), "POST") })
			inParts(a, c, "5\r\nhello\r\n", "0\r\n\r\n")
			c.Response("POST")
		}, "Connections 1, Requests 1, Responses [0 1 0 0 0], BytesIn 76, BytesOut 49",
			"Requests 1, Responses [0 1 0 0 0], BytesIn 49, BytesOut 206, Connects 1"},
		{"an answer until the end", []string{"HTTP/1.1 404 Not Found\r\n\r\n01234", "56789", ""}, nil, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 1 0], BytesIn 32, BytesOut 55",
			"Requests 1, Responses [0 0 0 1 0], BytesIn 55, BytesOut 162, Connects 1"},
		{"interim answers", []string{"HTTP/1.1 100 Continue\r\n\r\n" + hints, answer + "0123456789"}, nil, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send("GET / HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n").Get()
		}, "Connections 1, Requests 1, Responses [0 1 0 0 0], BytesIn 56, BytesOut 73",
			"Requests 1, Responses [0 1 0 0 0], BytesIn 73, BytesOut 162, Connects 1"},
		{"a retry", []string{sorry}, func(s *farm.Service) { s.RetryOn, s.Retries = on("503"), 1 }, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 0 1], BytesIn 32, BytesOut 77",
			"Requests 1, Responses [0 0 0 0 1], BytesIn 77, BytesOut 162, Connects 1, Failures 1"},
		{"a backend that ends", []string{""}, nil, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 0 1], BytesIn 32, BytesOut 167",
			"Requests 1, BytesOut 162, Connects 1, Resets 1, Failures 1"},
		{"a backend that is silent", nil, nil, func(a *l7test.Appliance, b *l7test.Backend, c *l7test.Client) {
			c.Send(get("/"))
			l7test.Eventually(t, "it is there", func() bool { return b.Received() != "" })
			advance(a, 50*time.Second)
			c.Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 0 1], BytesIn 32, BytesOut 173, Timeouts 1",
			"Requests 1, BytesOut 162, Connects 1, Timeouts 1, Failures 1"},
		{"a client that goes late", nil, nil, func(a *l7test.Appliance, b *l7test.Backend, c *l7test.Client) {
			c.Send(get("/"))
			l7test.Eventually(t, "it is there", func() bool { return b.Received() != "" })
			advance(a, 2*time.Second)
			_ = c.SetLinger(0)
			_ = c.Close()
		}, "Connections 1, Requests 1, BytesIn 32, ClientAborts 1",
			"Requests 1, BytesOut 162, Connects 1, Abandoned 1"},
		{"a client that goes at once", nil, nil, func(_ *l7test.Appliance, b *l7test.Backend, c *l7test.Client) {
			c.Send(get("/"))
			l7test.Eventually(t, "it is there", func() bool { return b.Received() != "" })
			_ = c.SetLinger(0)
			_ = c.Close()
		}, "Connections 1, Requests 1, BytesIn 32, ClientAborts 1",
			"Requests 1, BytesOut 162, Connects 1"},
		{"a body that is refused", nil, nil, func(_ *l7test.Appliance, b *l7test.Backend, c *l7test.Client) {
			c.Send(chunked)
			l7test.Eventually(t, "it is there", func() bool { return b.Received() != "" })
			c.Send("x\r\n").Response("POST")
		}, "Connections 1, Requests 1, Responses [0 0 0 1 0], BytesIn 61, BytesOut 164, BadRequests 1",
			"Requests 1, BytesOut 191, Connects 1"},
		{"no service", nil, func(s *farm.Service) { s.URL = "^/x" }, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 0 1], BytesIn 32, BytesOut 176, NoBackend 1",
			""},
		{"no backend", nil, func(s *farm.Service) { s.Backends = nil }, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 0 0 1], BytesIn 32, BytesOut 176, NoBackend 1",
			""},
		{"a redirect", nil, func(s *farm.Service) { *s = farm.Service{ID: 1, Name: "moved", Redirect: "http://b.test/"} }, func(_ *l7test.Appliance, _ *l7test.Backend, c *l7test.Client) {
			c.Send(get("/")).Get()
		}, "Connections 1, Requests 1, Responses [0 0 1 0 0], BytesIn 32, BytesOut 67, Redirects 1",
			""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := l7test.New(t, 1)
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				for {
					head, err := r.Head()
					if err != nil {
						return
					}
					if strings.Contains(head, "chunked") && len(c.says) > 0 {
						_, _ = io.CopyN(io.Discard, r, int64(len("5\r\nhello\r\n0\r\n\r\n")))
					}
					for _, part := range c.says {
						if part == "" {
							return
						}
						r.Say(part)
						a.Turn()
						a.Turn()
					}
				}
			})
			s := l7test.Service("web", b.Addr)
			if c.edit != nil {
				c.edit(&s)
			}
			client := l7test.Dial(t, a.Serve(func(h *farm.HTTP) { h.ResponseTimeout, h.RequestTimeout = 45, 300 }, s))
			c.meet(a, b, client)
			_ = client.Close()
			l7test.Eventually(t, "nothing is under way", func() bool {
				f := a.Segment.SumFarm(1)
				return f.Established == 0 && f.Pending == 0 && f.Connections == 1 && a.Segment.SumBackend(1).Established == 0
			})
			farms, backend := counted(a.Segment.SumFarm(1)), counted(a.Segment.SumBackend(1))
			if farms != c.farms || backend != c.backend {
				t.Errorf("%s\n%s\n%s\nwant\n%s\n%s", c.name, farms, backend, c.farms, c.backend)
			}
		})
	}
}

// inParts sends parts, each after the loop has read the previous one.
func inParts(a *l7test.Appliance, c *l7test.Client, parts ...string) {
	for _, part := range parts {
		c.Send(part)
		a.Turn()
		a.Turn()
	}
}
