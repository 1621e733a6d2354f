package http2_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// backend is a connection to a backend whose responses are delivered through channels.
type backend struct{ *driver }

// call is a request to a backend and its result.
type call struct {
	send     []byte // unsent rest of the body
	interim  []string
	head     string
	body     bytes.Buffer
	trailers string
	code     http2.Code
	why      *http2.Error
	again    bool // the request is repeatable
	done     chan struct{}
}

func dial(t testing.TB, socket net.Conn, secure bool) *backend {
	b := &backend{driver: newDriver(socket)}
	b.conn = http2.NewClient(http2.NewShared(http2.ClientLimits(), new(loop.BufferPool), clock), b, secure)
	go b.run()
	t.Cleanup(func() { _ = socket.Close() })
	return b
}

func (b *backend) open(head string, body []byte) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &call{send: body, done: make(chan struct{})}
	s := b.conn.Open(c, []byte(head), len(body) == 0)
	if s == nil {
		return nil
	}
	b.Writable(s)
	return c
}

func (b *backend) Head(s *http2.Stream, head []byte, end bool) {
	c := s.Owner.(*call)
	if strings.HasPrefix(string(head), "HTTP/1.1 1") {
		c.interim = append(c.interim, string(head))
		return
	}
	c.head = string(head)
	if end {
		close(c.done)
	}
}

func (b *backend) Data(s *http2.Stream, p []byte, end bool) {
	c := s.Owner.(*call)
	c.body.Write(p)
	s.Consumed(len(p))
	if end {
		close(c.done)
	}
}

func (b *backend) Trailers(s *http2.Stream, lines []byte) {
	c := s.Owner.(*call)
	c.trailers = string(lines)
	close(c.done)
}

func (b *backend) Writable(s *http2.Stream) {
	c := s.Owner.(*call)
	if len(c.send) > 0 {
		c.send = c.send[s.Data(c.send, true):]
	}
}

func (b *backend) Reset(s *http2.Stream, code http2.Code, why *http2.Error) {
	c := s.Owner.(*call)
	select {
	case <-c.done:
		return // already complete
	default:
	}
	c.code, c.why, c.again = code, why, s.Unprocessed()
	close(c.done)
}

func (b *backend) GoingAway(http2.Code) {}

func (c *call) wait(t *testing.T) *call {
	t.Helper()
	select {
	case <-c.done:
	case <-time.After(20 * time.Second):
		t.Fatal("no answer")
	}
	return c
}

// handler is the backend's net/http handler.
func handler(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/bytes":
		n, _ := strconv.Atoi(r.URL.RawQuery)
		for ; n > 0; n -= 50_000 {
			_, _ = w.Write(zeros(min(n, 50_000)))
		}
	case "/echo":
		w.WriteHeader(http.StatusOK)
		_, _ = io.Copy(w, r.Body)
	case "/trailers":
		w.Header().Set("Trailer", "Grpc-Status")
		w.Header().Set("Content-Type", "application/grpc")
		_, _ = fmt.Fprint(w, "message")
		w.Header().Set("Grpc-Status", "0")
	case "/hints":
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = fmt.Fprint(w, "hello")
	case "/none":
		w.WriteHeader(http.StatusNoContent)
	case "/headers":
		_ = r.Header.Write(w)
		_, _ = fmt.Fprintf(w, "Host: %s\nTLS: %v\nMethod: %s", r.Host, r.TLS != nil, r.Method)
	case "/cut":
		_, _ = fmt.Fprint(w, "some")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	default:
		_, _ = fmt.Fprint(w, "hello")
	}
}

// goBackends returns net/http servers over cleartext and TLS.
func goBackends(t *testing.T) map[string]*backend {
	t.Helper()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	p.SetHTTP2(true)
	s := &http.Server{Handler: http.HandlerFunc(handler), Protocols: &p,
		HTTP2:     &http.HTTP2Config{MaxConcurrentStreams: 100},
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{selfSigned(t)}}}
	t.Cleanup(func() { _ = s.Close() })
	dials := map[string]*backend{}
	for _, secure := range []bool{false, true} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		socket, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if secure {
			go func() { _ = s.ServeTLS(ln, "", "") }()
			dials["TLS"] = dial(t, tls.Client(socket, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}), true)
			continue
		}
		go func() { _ = s.Serve(ln) }()
		dials["cleartext"] = dial(t, socket, false)
	}
	return dials
}

func head(method, path string, lines ...string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: backend.test:81\r\n" + strings.Join(append(lines, "\r\n"), "\r\n")
}

func TestNetHTTPServerAnswers(t *testing.T) {
	for name, b := range goBackends(t) {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				c := b.open(head("GET", "/"), nil).wait(t)
				r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(c.head)), nil)
				if err != nil || r.StatusCode != 200 || r.ContentLength != 5 || c.body.String() != "hello" {
					t.Fatalf("%q %q %v", c.head, c.body.String(), err)
				}
			}
			if c := b.open(head("GET", "/bytes?3000000"), nil).wait(t); c.body.Len() != 3_000_000 || !strings.Contains(c.head, "transfer-encoding: chunked\r\n") {
				t.Errorf("%q, %d bytes", c.head, c.body.Len())
			}
			sent := zeros(200 << 10)
			if c := b.open(head("POST", "/echo"), sent).wait(t); !bytes.Equal(c.body.Bytes(), sent) {
				t.Errorf("%d bytes were echoed, %v", c.body.Len(), c.why)
			}
			if c := b.open(head("GET", "/trailers", "TE: trailers", "Connection: TE"), nil).wait(t); c.trailers != "grpc-status: 0\r\n" {
				t.Errorf("trailers %q, want %q", c.trailers, "grpc-status: 0\r\n")
			}
			if c := b.open(head("GET", "/hints"), nil).wait(t); len(c.interim) != 1 || !strings.Contains(c.interim[0], "103 Early Hints\r\nlink: </a>\r\n") {
				t.Errorf("interim %q", c.interim)
			}
			if c := b.open(head("GET", "/none"), nil).wait(t); c.head[:16] != "HTTP/1.1 204 No " || strings.Contains(c.head, "content-length") {
				t.Errorf("%q", c.head)
			}
			if c := b.open(head("HEAD", "/"), nil).wait(t); !strings.Contains(c.head, "content-length: 5") || c.body.Len() != 0 {
				t.Errorf("%q", c.head)
			}
			if c := b.open(head("GET", "/cut"), nil).wait(t); c.code != http2.CodeInternal || c.why != nil || c.again {
				t.Errorf("%v %v", c.code, c.why)
			}
			c := b.open(head("PUT", "/headers", "X-A: 1", "X-Blank:2  ", "Cookie: a=b; c=d", "TE: trailers", "Connection: TE", "Upgrade: h2c"), nil).wait(t)
			got := strings.ReplaceAll(c.body.String(), "\r", "")
			if want := fmt.Sprintf("Cookie: a=b; c=d\nTe: trailers\nX-A: 1\nX-Blank: 2\nHost: backend.test:81\nTLS: %v\nMethod: PUT", name == "TLS"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestManyRequestsToOneBackend(t *testing.T) {
	for name, b := range goBackends(t) {
		t.Run(name, func(t *testing.T) {
			var calls []*call
			for len(calls) < 100 {
				calls = append(calls, b.open(head("GET", "/bytes?500000"), nil))
			}
			if b.open(head("GET", "/"), nil) != nil {
				t.Error("a stream was opened beyond the backend's limit")
			}
			for _, c := range calls {
				if c.wait(t); c.body.Len() != 500_000 {
					t.Fatalf("%d bytes, %v %v", c.body.Len(), c.code, c.why)
				}
			}
		})
	}
}

func TestGOAWAYReturnsUnprocessedRequests(t *testing.T) {
	block := make(chan struct{})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: &p, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-block
		_, _ = fmt.Fprint(w, "late")
	})}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
	socket, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b := dial(t, socket, false)
	c := b.open(head("GET", "/"), nil)
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() { _ = s.Shutdown(ctx) }()
	deadline := time.Now().Add(5 * time.Second)
	for gone := false; !gone; time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		gone = b.conn.Available() == 0
		b.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatal("GOAWAY did not end the opening of streams")
		}
	}
	close(block)
	if c.wait(t); c.body.String() != "late" {
		t.Errorf("%q %v", c.body.String(), c.code)
	}
}
