package proxy_test

import (
	"net"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// Every exchange returns its buffers, however it ends.
func TestExchangesReturnTheirBuffers(t *testing.T) {
	t.Parallel()
	hangUp := func(c *l7test.Recorder) { _, _ = c.Head() }
	silent := func(c *l7test.Recorder) { _, _ = c.Head(); _, _ = c.Head() }
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	for name, c := range map[string]struct {
		scripts []func(c *l7test.Recorder)
		others  []string // more backends
		request string
		status  int // of the response; 0: the client leaves after the last backend got the request
	}{
		"nobody is there":               {others: []string{nobody.Addr().String()}, request: get("/"), status: 503},
		"no answer":                     {scripts: []func(c *l7test.Recorder){hangUp}, request: get("/"), status: 502},
		"no answer after one kept":      {scripts: []func(c *l7test.Recorder){l7test.Answer(sorry), hangUp}, request: get("/"), status: 503},
		"the best of several":           {scripts: []func(c *l7test.Recorder){l7test.Answer(sorry), l7test.Answer(sorry), l7test.Answer(sorry)}, request: get("/"), status: 503},
		"a good one after two":          {scripts: []func(c *l7test.Recorder){l7test.Answer(sorry), l7test.Answer(sorry), l7test.Answer(ok)}, request: get("/"), status: 200},
		"half a head":                   {scripts: []func(c *l7test.Recorder){func(c *l7test.Recorder) { _, _ = c.Head(); c.Say("HTTP/1.1 200 OK\r\nX: y") }}, request: get("/"), status: 502},
		"a body too long to keep":       {scripts: []func(c *l7test.Recorder){l7test.Answer(ok)}, request: "PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 200000), status: 200},
		"left after an answer was kept": {scripts: []func(c *l7test.Recorder){l7test.Answer(sorry), silent}, request: get("/")},
		"left while it waits":           {scripts: []func(c *l7test.Recorder){silent}, request: get("/")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var last *l7test.Backend
			addrs := c.others
			for _, script := range c.scripts {
				last = l7test.NewBackend(t, script)
				addrs = append(addrs, last.Addr)
			}
			a := l7test.New(t, 1)
			s := retrying(on("503", "reset"), addrs...)
			s.Retries = 3
			addr := a.Serve(nil, s)
			returned := a.Borrowed()
			client := l7test.Dial(t, addr).Send(c.request)
			if c.status != 0 {
				if res := client.Response("GET"); res.StatusCode != c.status {
					t.Errorf("answer %d, want %d", res.StatusCode, c.status)
				}
			} else {
				l7test.Eventually(t, "the last backend is asked", func() bool { return last.Received() != "" })
			}
			_ = client.Close()
			l7test.Eventually(t, "the client is gone", func() bool { return a.Segment.SumFarm(1).Established == 0 })
			l7test.Eventually(t, "all that was lent came back", returned)
		})
	}
}

// Clients that leave within a compressed body release their memory.
func TestClientsThatLeaveGiveTheirEncoderBack(t *testing.T) {
	t.Parallel()
	body := string(compresstest.Text(20000, 1))
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" + body)
		_, _ = c.Head()
	})
	a := l7test.New(t, 1)
	s := compressing(b.Addr)
	s.Compression.Level = farm.CompressionBest
	addr := a.Serve(nil, s)
	const clients = 25
	for range clients { // more than the memory allows
		client := l7test.Dial(t, addr).Send(encoding("/", "br"))
		if line, err := client.Reader().ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Fatal(line, err)
		}
		_ = client.SetLinger(0)
		_ = client.Close()
		l7test.Eventually(t, "it is gone", func() bool { return a.Segment.SumFarm(1).Established == 0 })
	}
	if f := a.Segment.SumFarm(1); f.CompressFull != 0 || f.Compressed != clients {
		t.Errorf("%d were compressed, %d were not for want of memory", f.Compressed, f.CompressFull)
	}
}
