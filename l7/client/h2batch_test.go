package client_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// together sends the writes of do as one piece, which is read at once.
func together(t *testing.T, p *l7test.FrameClient, do func()) {
	t.Helper()
	var b bytes.Buffer
	direct := p.Framer
	p.Framer = xhttp2.NewFramer(&b, p.Conn)
	do()
	p.Framer = direct
	if _, err := p.Conn.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// Streams cancelled in the same read cost a backend neither a connection nor a request.
func TestInstantlyResetStreamsReachNoBackend(t *testing.T) {
	t.Parallel()
	const streams = 100 // below the stream limit
	for name, end := range map[string]func(p *l7test.FrameClient, id uint32){
		"reset": func(p *l7test.FrameClient, id uint32) { _ = p.WriteRSTStream(id, xhttp2.ErrCodeCancel) },
		"window update of 0": func(p *l7test.FrameClient, id uint32) {
			_ = p.WriteRawFrame(xhttp2.FrameWindowUpdate, 0, id, make([]byte, 4))
		},
		"window overflow":    func(p *l7test.FrameClient, id uint32) { _ = p.WriteWindowUpdate(id, 1<<31-1) },
		"data after the end": func(p *l7test.FrameClient, id uint32) { _ = p.WriteData(id, true, []byte("x")) },
		"head after the end": func(p *l7test.FrameClient, id uint32) { p.Ask(id, true, "GET", "/") },
		"priority of 4 bytes": func(p *l7test.FrameClient, id uint32) {
			_ = p.WriteRawFrame(xhttp2.FramePriority, 0, id, make([]byte, 4))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, scripted)
			a := l7test.New(t, 1)
			p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
			together(t, p, func() {
				for id := uint32(1); id < 2*streams; id += 2 {
					p.Ask(id, true, "GET", "/not")
					end(p, id)
				}
				p.Ask(2*streams+1, true, "GET", "/")
			})
			for f := ""; !strings.HasPrefix(f, "201 "); f = p.Next() {
				if f == "end" || strings.HasPrefix(f, "GOAWAY") {
					t.Fatalf("got %s", f)
				}
			}
			if got := b.Received(); b.Accepted() != 1 || strings.Contains(got, "/not") {
				t.Errorf("the backend had %d connections and %d requests", b.Accepted(), strings.Count(got, "GET "))
			}
			f := a.Segment.SumFarm(1)
			if f.Requests != 1 || f.ClientAborts != streams {
				t.Errorf("%d requests and %d aborts were counted, want 1 and %d", f.Requests, f.ClientAborts, streams)
			}
			_ = p.Conn.Close()
			idle(t, a)
		})
	}
}

// Bodies that arrive with their heads in one read are forwarded in order, each with its own
// request.
func TestRequestsOfOneReadKeepTheirBodies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	came := map[string]string{} // bodies by path
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, err := io.ReadAll(r.Body)
			mu.Lock()
			came[r.URL.Path] = fmt.Sprintf("%s %v", body, err)
			mu.Unlock()
			c.Say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	const streams = 100
	together(t, p, func() {
		for id := uint32(1); id < 2*streams; id += 2 {
			p.Ask(id, false, "POST", "/echo"+itoa(id))
			_ = p.WriteData(id, false, []byte("body "))
			_ = p.WriteData(id, id%4 == 1, []byte(itoa(id)))
			if id%4 == 3 {
				_ = p.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: true, EndHeaders: true, BlockFragment: p.Head("x-end", itoa(id))})
			}
		}
	})
	l7test.Eventually(t, "all requests came", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(came) == streams
	})
	for id := uint32(1); id < 2*streams; id += 2 {
		if got := came["/echo"+itoa(id)]; got != "body "+itoa(id)+" <nil>" {
			t.Errorf("of request %d came %q", id, got)
		}
	}
	_ = p.Conn.Close()
	idle(t, a)
}

// Only a part of a connection's simultaneous requests begins per turn; then others have
// theirs.
func TestManyRequestsOfOneConnectionDelayNoOther(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	const streams = 120
	order := make(chan string, streams+1) // of the connects
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			line := make([]byte, 8)
			_, _ = io.ReadFull(c, line)
			order <- string(line)
		}
	}()
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {}, l7test.Service("web", ln.Addr().String()))
	p := l7test.DialFrames(t, addr)
	p.Ask(1, true, "GET", "/first")
	other := l7test.Dial(t, addr)
	_, _ = io.WriteString(other.TCPConn, "GET /warm HTTP/1.1\r\n")
	<-order
	held, stopped := make(chan struct{}), make(chan struct{})
	a.Loops[0].Post(func() { close(stopped); <-held })
	<-stopped
	together(t, p, func() {
		for id := uint32(3); id < 2*streams+3; id += 2 {
			p.Ask(id, true, "GET", "/many")
		}
	})
	_, _ = io.WriteString(other.TCPConn, "Host: a.test\r\n\r\n")
	close(held)
	before := 0
	for line := ""; line != "GET /war"; line = <-order {
		before++
	}
	if before > streams/2 {
		t.Errorf("%d requests of one connection preceded those of the other", before-1)
	}
	for n := before; n <= streams; n++ {
		select {
		case <-order:
		case <-time.After(5 * time.Second):
			t.Fatalf("%d of %d requests were started", n-1, streams)
		}
	}
}

// Requests that wait for room in the output continue once it has left.
func TestRequestsWaitForPendingResponses(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	moved := farm.Service{ID: 9, Name: "moved", URL: "^/moved", Redirect: "https://else.test/" + strings.Repeat("x", 5000)}
	p := l7test.DialFrames(t, a.Serve(nil, moved, l7test.Service("web", b.Addr)))
	for id := uint32(1); id < 7; id += 2 {
		p.Ask(id, true, "GET", "/big") // more than sockets hold
	}
	before := uint64(0)
	l7test.Eventually(t, "the answers are stuck", func() bool {
		n := a.Segment.SumFarm(1).BytesOut
		stuck := n > 1<<20 && n == before
		before = n
		return stuck
	})
	const streams = 100
	together(t, p, func() {
		for id := uint32(7); id < 2*streams+7; id += 2 {
			p.Ask(id, true, "GET", "/moved")
		}
	})
	l7test.Eventually(t, "some are answered", func() bool { return a.Segment.SumFarm(1).Redirects > 0 })
	for answered := 0; answered < streams; {
		switch f := p.Next(); {
		case f == "end":
			t.Fatalf("%d of %d were answered", answered, streams)
		case strings.Contains(f, "HEADERS 302"):
			answered++
		}
	}
}

func itoa(n uint32) string { return strconv.Itoa(int(n)) }
