package proxy_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// newServer starts a backend with that handler.
func newServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// Events reach the client before the next one is produced.
func TestEventsAreNotHeldBackByCompression(t *testing.T) {
	t.Parallel()
	next := make(chan bool)
	events := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			_, _ = fmt.Fprintf(w, "data: event %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	})
	zip := func(h *farm.HTTP) {
		h.Services[0].Compression = &farm.Compression{Codings: codings, Types: []string{"text/*"}}
	}
	read := func(t *testing.T, c *http.Client, url string) {
		for _, coding := range codings {
			req, _ := http.NewRequest("GET", url, nil)
			req.Header.Set("Accept-Encoding", string(coding))
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Header.Get("Content-Encoding") != string(coding) {
				t.Errorf("%q", res.Header)
			}
			r, err := compresstest.Reader(string(coding), res.Body)
			if err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewReaderSize(r, 16)
			for i := range 5 {
				line, err := lines.ReadString('\n')
				if want := fmt.Sprintf("data: event %d\n", i); err != nil || line != want {
					t.Fatalf("%s: %q instead of %q, %v", coding, line, want, err)
				}
				_, _ = lines.ReadString('\n')
				next <- true
			}
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("%s: %q at the end, %v", coding, rest, err)
			}
			_ = res.Body.Close()
		}
	}
	t.Run("HTTP1", func(t *testing.T) {
		s := l7test.Service("web", newServer(t, events))
		addr := l7test.New(t, 1).Serve(zip, s)
		transport := &http.Transport{DialContext: l7test.DialOnly(addr)}
		t.Cleanup(transport.CloseIdleConnections)
		read(t, &http.Client{Transport: transport}, "http://a.test/")
	})
	l7test.EachWay(t, events, func(t *testing.T, _ *l7test.Appliance, c *http.Client, url string) { read(t, c, url) }, zip)
}

// A truncated body must not end like a complete one.
func TestCompressedBodyOfABackendThatFailsIsNoWholeBody(t *testing.T) {
	t.Parallel()
	part := string(compresstest.Text(50000, 1))
	for name, cut := range map[string]struct{ head, tail string }{
		"length":  {"Content-Length: 60000\r\n", ""},
		"chunked": {"Transfer-Encoding: chunked\r\n", "c350\r\n"},
		"broken":  {"Transfer-Encoding: chunked\r\n", "c350\r\n"},
	} {
		begun := make(chan bool, 2)
		b := l7test.NewBackend(t, func(c *l7test.Recorder) {
			_, _ = c.Head()
			c.Say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + cut.head + "\r\n" + cut.tail + part)
			if name == "broken" {
				<-begun
				c.Say("\r\nnothing of a chunk")
				_, _ = c.Head()
			}
		})
		a := l7test.New(t, 1)
		addr := a.Serve(nil, compressing(b.Addr))
		res, err := http.ReadResponse(l7test.Dial(t, addr).Send(encoding("/", "gzip")).Reader(), nil)
		if err != nil {
			t.Fatal(err)
		}
		begun <- true
		if n, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("%s, HTTP/1: a whole body of %d bytes", name, n)
		}
		req, _ := http.NewRequest("GET", "http://a.test/", nil)
		req.Header.Set("Accept-Encoding", "br")
		if res, err = l7test.HTTP2Client(t, addr, false).Do(req); err != nil {
			t.Fatal(err)
		}
		begun <- true
		if n, err := io.Copy(io.Discard, res.Body); err == nil {
			t.Errorf("%s, HTTP/2: a whole body of %d bytes", name, n)
		}
		// The aborted encoders are reusable.
		s := compressing(newServer(t, http.HandlerFunc(inPieces)))
		a.Serve(nil, s)
		for _, coding := range []string{"gzip", "br"} {
			if got := decoded(t, l7test.Dial(t, addr).Send(encoding("/90000", coding)).Get()); got != string(compresstest.Text(90000, 90000)) {
				t.Errorf("%s: the next body has %d bytes", name, len(got))
			}
		}
	}
}

// The memory of encoders is bounded. When it is used up, responses are sent uncompressed.
func TestCompressionUsesNoMoreThanItsMemory(t *testing.T) {
	t.Parallel()
	release := make(chan bool)
	b := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(compresstest.Text(4000, 1))
		w.(http.Flusher).Flush()
		<-release
	}))
	s := compressing(b)
	s.Compression.Level = farm.CompressionBest
	a := l7test.New(t, 1)
	addr := a.Serve(nil, s)
	compressed, plain := 0, 0
	var open []*l7test.Client
	for range 40 {
		c := l7test.Dial(t, addr).Send(encoding("/", "br"))
		res, err := http.ReadResponse(c.Reader(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.Header.Get("Content-Encoding") == "br" {
			compressed++
		} else if plain++; res.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q", res.Header)
		}
		open = append(open, c)
	}
	if f := a.Segment.SumFarm(1); compressed < 15 || plain < 5 || f.CompressFull != uint64(plain) || f.Compressed != uint64(compressed) {
		t.Errorf("%d are compressed and %d are not, counted are %d and %d", compressed, plain, f.Compressed, f.CompressFull)
	}
	for _, c := range open {
		_ = c.Close()
	}
	close(release)
	l7test.Eventually(t, "the encoders are there again", func() bool {
		return l7test.Dial(t, addr).Send(encoding("/", "br")).Get().Header.Get("Content-Encoding") == "br"
	})
}

// TestCompressedBodyForAClientThatDoesNotReadCostsLittleMemory checks that reading stops
// while the client is full, regardless of the encoder's output.
func TestCompressedBodyForAClientThatDoesNotReadCostsLittleMemory(t *testing.T) {
	const size = 1 << 30
	block := compresstest.Text(1<<20, 1)
	sent := make(chan int, 4096)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n", size))
		for i := range size >> 20 {
			if _, err := c.TCPConn.Write(block); err != nil {
				return
			}
			sent <- i
		}
	})
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, compressing(b.Addr)))
	_ = c.SetDeadline(time.Now().Add(60 * time.Second))
	before := heap()
	c.Send(encoding("/big", "gzip"))
	for quiet := false; !quiet; { // until the backend stalls
		select {
		case <-sent:
		case <-time.After(time.Second):
			quiet = true
		}
	}
	if grown := int64(heap()) - int64(before); grown > 3<<20 { // includes one encoder
		t.Errorf("%d bytes more are held while the client does not read", grown)
	}
	// The stalled body continues: the client reads 16 MiB of it.
	res, err := http.ReadResponse(c.Reader(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compresstest.Reader("gzip", res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(block))
	for i := range 16 {
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, block) {
			t.Fatalf("MiB %d: %v", i, err)
		}
	}
}

func TestHTTP2ClientThatDoesNotReadGetsCompressedBodiesWhole(t *testing.T) {
	t.Parallel()
	want := compresstest.Text(2<<20, 1)
	b := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(want)
	}))
	c := l7test.HTTP2Client(t, l7test.New(t, 1).Serve(nil, compressing(b)), false)
	for _, coding := range []string{"br", "zstd", "gzip"} {
		req, _ := http.NewRequest("GET", "http://a.test/", nil)
		req.Header.Set("Accept-Encoding", coding)
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw := new(bytes.Buffer)
		for i := 0; ; i++ {
			_, err := io.CopyN(raw, res.Body, 10000)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if i < 20 {
				time.Sleep(2 * time.Millisecond) // a slow reader, for a while
			}
		}
		_ = res.Body.Close()
		if got, err := compresstest.Decode(coding, raw.Bytes()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d of %d bytes, %v", coding, len(got), len(want), err)
		}
	}
}

// Random bytes grow only by their framing.
func TestIncompressibleBodiesAreDelivered(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	b := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(noise)
	}))
	c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, compressing(b)))
	for _, coding := range codings {
		res := c.Send(encoding("/", string(coding))).Get()
		if got := decoded(t, res); got != string(noise) || len(res.Text) > len(noise)+len(noise)/100 {
			t.Errorf("%s: %d bytes in %d", coding, len(got), len(res.Text))
		}
	}
}

// A response kept during retries is compressed as well.
func TestAnswerThatWasRetriedInVainIsCompressed(t *testing.T) {
	t.Parallel()
	want := string(compresstest.Text(5000, 1))
	for name, answer := range map[string]string{
		"length":  fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(want), want),
		"chunked": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(want), want),
	} {
		b := l7test.NewBackend(t, l7test.Answer("HTTP/1.1 503 Busy\r\nContent-Type: text/html\r\n"+answer))
		s := compressing(b.Addr, b.Addr)
		s.RetryOn, s.Retries = []farm.RetryCondition{"503"}, 1
		addr := l7test.New(t, 1).Serve(nil, s)
		c := l7test.Dial(t, addr)
		for range 2 {
			if res := c.Send(encoding("/", "gzip")).Get(); res.StatusCode != 503 || res.Header.Get("Content-Encoding") != "gzip" || decoded(t, res) != want {
				t.Errorf("%s, HTTP/1: %s %q", name, res.Status, res.Header)
			}
		}
		req, _ := http.NewRequest("GET", "http://a.test/", nil)
		req.Header.Set("Accept-Encoding", "br")
		res, err := l7test.HTTP2Client(t, addr, false).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 503 || res.Header.Get("Content-Encoding") != "br" {
			t.Fatalf("%s, HTTP/2: %s %q %v", name, res.Status, res.Header, err)
		}
		if got, err := compresstest.Decode("br", raw); err != nil || string(got) != want {
			t.Errorf("%s, HTTP/2: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestAnswersOfHTTP2BackendsAreCompressed(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		s := l7test.HTTP2Server(t, l7test.Echo, secure)
		service := l7test.HTTP2Service(secure, s.Listener.Addr().String())
		service.Compression = &farm.Compression{Codings: []farm.Coding{"gzip"}}
		front := l7test.New(t, 1).Serve(nil, service)
		for name, c := range map[string]*http.Client{"http1": {Transport: &http.Transport{DialContext: l7test.DialOnly(front)}}, "h2c": l7test.HTTP2Client(t, front, false)} {
			for _, query := range []string{"", "?length", "?trailer"} {
				for _, size := range []int{5_000, 1_000_000} {
					body := strings.Repeat("text and more ", size/14)
					res, err := c.Post("http://a.test/"+query, "text/plain", strings.NewReader(body))
					if err != nil {
						t.Fatal(name, query, err)
					}
					got, err := io.ReadAll(res.Body)
					if err != nil || string(got) != body || !res.Uncompressed {
						t.Errorf("%s %s %d: %d bytes, uncompressed %t, %v", name, query, size, len(got), res.Uncompressed, err)
					}
					if query == "?trailer" && res.Trailer.Get("X-Sum") == "" {
						t.Errorf("%s %d: trailers %v", name, size, res.Trailer)
					}
				}
			}
			c.CloseIdleConnections()
		}
	}
}
