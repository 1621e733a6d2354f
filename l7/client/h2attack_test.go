package client_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// other is a client that must be served during attacks, within ten seconds per response.
func other(t *testing.T, addr string) (stop func()) {
	over, done := make(chan struct{}), make(chan struct{})
	c := l7test.Dial(t, addr)
	go func() {
		defer close(done)
		for ended := false; !ended; {
			select {
			case <-over:
				ended = true // after one more
			default:
			}
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			_, _ = io.WriteString(c.TCPConn, get("/"))
			res, err := http.ReadResponse(c.Reader(), nil)
			if err != nil {
				t.Errorf("another client: %v", err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return func() { close(over); <-done }
}

// After GOAWAY a flood is no longer read, and the kernel blocks its sender. The kernel's
// buffers are bounded; reading on consumed gigabytes in these seconds.
func TestFloodIsNotReadCompletely(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
	var pings bytes.Buffer
	f := xhttp2.NewFramer(&pings, nil)
	for pings.Len() < 1<<20 {
		_ = f.WritePing(false, [8]byte{})
	}
	sent := 0
	for sent < 64<<20 {
		_ = p.Conn.SetWriteDeadline(time.Now().Add(30 * time.Second)) // the connection is reset earlier
		n, err := p.Conn.Write(pings.Bytes())
		if sent += n; err != nil {
			break
		}
	}
	if sent >= 64<<20 {
		t.Errorf("%d MiB of a flood were read", sent>>20)
	}
}

func TestHTTP2FloodsCostOneConnection(t *testing.T) {
	for name, c := range map[string]struct {
		send   func(p *l7test.FrameClient, id uint32)
		reason string
	}{
		"rapid reset": {func(p *l7test.FrameClient, id uint32) {
			p.Ask(id, true, "GET", "/silent")
			_ = p.WriteRSTStream(id, xhttp2.ErrCodeCancel)
		}, "too many streams reset"},
		"settings": {func(p *l7test.FrameClient, id uint32) { _ = p.WriteSettings() }, "too many SETTINGS frames"},
		"ping":     {func(p *l7test.FrameClient, id uint32) { _ = p.WritePing(false, [8]byte{}) }, "too many PING frames"},
		"continuations": {func(p *l7test.FrameClient, id uint32) {
			if id == 1 {
				_ = p.WriteRawFrame(xhttp2.FrameHeaders, 0, id, p.Head(":method", "GET"))
			}
			_ = p.WriteContinuation(1, false, p.Head("x", "y"))
		}, "too many CONTINUATION frames"},
		"streams":   {func(p *l7test.FrameClient, id uint32) { p.Ask(id, true, "GET", "/silent") }, "too many streams at once"},
		"malformed": {func(p *l7test.FrameClient, id uint32) { p.Ask(id, true, "GET", "/", "connection", "x") }, "too many streams reset"},
	} {
		t.Run(name, func(t *testing.T) {
			b := l7test.NewBackend(t, scripted)
			a := l7test.New(t, 1)
			addr := a.Serve(nil, l7test.Service("web", b.Addr))
			stop := other(t, addr)
			for range 3 {
				p := l7test.DialFrames(t, addr)
				gone := make(chan []string)
				go func() { gone <- p.Ended() }()
				for id := uint32(1); id < 20000; id += 2 {
					c.send(p, id)
				}
				if frames := <-gone; len(frames) > 0 && !strings.Contains(strings.Join(frames, "\n"), "GOAWAY ENHANCE_YOUR_CALM") {
					t.Errorf("ended without its reason: %.200q", frames[len(frames)-1])
				}
			}
			stop()
			// Each attacking connection may have had 128 exchanges.
			if n := b.Accepted(); n > 3*300 {
				t.Errorf("%d connections to the backend", n)
			}
			l7test.Eventually(t, "the reason is logged", func() bool {
				return len(a.Log.Lines("class=flood")) > 0 && len(a.Log.Lines(c.reason)) > 0
			})
			l7test.Eventually(t, "nothing is left of it", func() bool {
				f, n := a.Segment.SumFarm(1), a.Segment.SumBackend(1)
				return f.Established <= 1 && f.Pending == 0 && n.Established|n.Pending == 0
			})
		})
	}
}

// maxHeads bounds the request heads held for one connection.
const maxHeads = 1 << 20

// heapSize returns the size of the heap.
func heapSize() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestHTTP2ConnectionHoldsLittle(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 4<<20)
	for name, c := range map[string]struct {
		ask  func(p *l7test.FrameClient, id uint32)
		most int
	}{
		"128 bodies that are not read": {func(p *l7test.FrameClient, id uint32) { p.Ask(id, true, "GET", "/big") }, 5 << 20},
		"128 heads of 60 KiB": {func(p *l7test.FrameClient, id uint32) {
			big := p.Head(":method", "GET", ":scheme", "http", ":authority", "a.test", ":path", "/silent",
				"x-"+itoa(id), strings.Repeat(string(rune('a'+id%26)), 60000))
			_ = p.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: true, BlockFragment: big[:16000]})
			for big = big[16000:]; len(big) > 16000; big = big[16000:] {
				_ = p.WriteContinuation(id, false, big[:16000])
			}
			_ = p.WriteContinuation(id, true, big)
		}, 6 << 20},
		"128 bodies for a backend that does not read": {func(p *l7test.FrameClient, id uint32) {
			p.Ask(id, false, "POST", "/silent", "content-length", "100000")
			_ = p.WriteData(id, false, make([]byte, 2000))
		}, 4 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				if head, _ := r.Head(); strings.Contains(head, "/big") {
					_, _ = io.WriteString(r.TCPConn, "HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n")
					_, _ = r.TCPConn.Write(long)
				}
				_, _ = io.Copy(io.Discard, r.TCPConn)
			})
			a := l7test.New(t, 1)
			p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
			before := heapSize() - len(b.Received())
			for id := uint32(1); id < 256; id += 2 {
				c.ask(p, id)
			}
			time.Sleep(500 * time.Millisecond) // all requests have arrived, even on a slow machine
			l7test.Eventually(t, fmt.Sprintf("at most %d KiB are held for one connection", c.most>>10), func() bool {
				// Data recorded by the backends belongs to them and to goroutines of the
				// test.
				return heapSize()-before-4*len(b.Received()) <= c.most
			})
			if n := strings.Count(b.Received(), "GET /silent"); n > maxHeads/60000 {
				t.Errorf("%d heads of 60 KiB were kept at once", n)
			}
			_ = p.Conn.Close()
			idle(t, a)
		})
	}
}

// Responses without body need no window. A client that requests them without reading is no
// longer read.
func TestNonReadingHTTP2ClientIsNotRead(t *testing.T) {
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(func(h *farm.HTTP) {
		h.Services = []farm.Service{{ID: 9, Name: "moved", Redirect: "https://else.test/" + strings.Repeat("x", 5000)}}
	}))
	_ = p.Conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
	var b bytes.Buffer
	f := xhttp2.NewFramer(&b, nil)
	sent := 0
	for id := uint32(1); ; {
		b.Reset()
		for range 200 {
			block := p.Head(":method", "GET", ":scheme", "http", ":authority", "a.test", ":path", "/")
			_ = f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: true, EndHeaders: true, BlockFragment: block})
			id += 2
		}
		if _, err := p.Conn.Write(b.Bytes()); err != nil || sent > 64<<20 {
			break
		}
		sent += b.Len()
	}
	if n := a.Segment.SumFarm(1).Redirects; n > 20000 {
		t.Errorf("%d responses were sent to a client that does not read", n)
	}
	_ = p.Conn.Close()
	idle(t, a)
}

func TestHTTP2FramesOfOneByteAreSentOnTogether(t *testing.T) {
	var reads atomic.Int32
	b := l7test.NewBackend(t, func(r *l7test.Recorder) {
		_, _ = r.Head()
		buf := make([]byte, 1<<20)
		body := r.Unrecorded()
		var end []byte // tail of all bytes read
		for {
			n, err := body.Read(buf)
			if err != nil {
				return
			}
			end = append(end[max(0, len(end)-5):], buf[:n]...)
			if reads.Add(1); bytes.HasSuffix(end, []byte("0\r\n\r\n")) {
				r.Say(ok)
				return
			}
		}
	})
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(nil, l7test.Service("web", b.Addr)))
	const size = 20000
	p.Ask(1, false, "POST", "/")
	p.Ask(3, false, "POST", "/")
	var frames bytes.Buffer
	f := xhttp2.NewFramer(&frames, nil)
	for i := range size {
		_ = f.WriteData(1, i == size-1, []byte{'x'})
		_ = f.WriteData(3, i == size-1, []byte{'y'})
	}
	_, _ = p.Conn.Write(frames.Bytes())
	for range 2 {
		want2xx(t, p)
	}
	if n := reads.Load(); n > 200 {
		t.Errorf("%d frames of a byte came in %d parts", 2*size, n)
	}
}

// want2xx reads one complete response of any stream.
func want2xx(t *testing.T, p *l7test.FrameClient) {
	t.Helper()
	for {
		switch f := p.Next(); {
		case strings.HasSuffix(f, " end"):
			return
		case strings.Contains(f, "DATA"), strings.Contains(f, "HEADERS 200"):
		default:
			t.Fatalf("got %s", f)
		}
	}
}
