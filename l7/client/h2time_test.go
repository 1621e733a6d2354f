package client_test

import (
	"io"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

func TestSlowHTTP2ClientsTimeOut(t *testing.T) {
	window := func(n uint32) xhttp2.Setting {
		return xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: n}
	}
	for name, c := range map[string]struct {
		connect func(t *testing.T, addr string) *l7test.FrameClient
		drip    func(p *l7test.FrameClient) // every tenth of a second
		last    string                      // last frame before the end; empty for any
		counted bool
	}{
		"preface": {func(t *testing.T, addr string) *l7test.FrameClient {
			c := l7test.Dial(t, addr)
			_, _ = io.WriteString(c.TCPConn, "PRI * HTTP")
			return l7test.NewFrameClient(t, c.TCPConn)
		}, nil, "", true},
		"settings": {func(t *testing.T, addr string) *l7test.FrameClient {
			c := l7test.Dial(t, addr)
			_, _ = io.WriteString(c.TCPConn, xhttp2.ClientPreface+"\x00\x00\x20\x04")
			return l7test.NewFrameClient(t, c.TCPConn)
		}, func(p *l7test.FrameClient) { _, _ = p.Conn.Write([]byte{0}) }, "GOAWAY NO_ERROR", true},
		"nothing": {func(t *testing.T, addr string) *l7test.FrameClient { return l7test.DialFrames(t, addr) }, nil, "GOAWAY NO_ERROR", false},
		"pings": {func(t *testing.T, addr string) *l7test.FrameClient { return l7test.DialFrames(t, addr) },
			func(p *l7test.FrameClient) { _ = p.WritePing(false, [8]byte{}) }, "GOAWAY NO_ERROR", false},
		"frame beside a tunnel": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket")
			p.Want("1 HEADERS 200", "1 DATA hello")
			_, _ = p.Conn.Write([]byte("\x00\x20\x00\x01\x05\x00\x00\x00\x03"))
			return p
		}, func(p *l7test.FrameClient) { _, _ = p.Conn.Write([]byte{0}) }, "GOAWAY NO_ERROR", true},
		"header block beside a tunnel": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket")
			p.Want("1 HEADERS 200", "1 DATA hello")
			_ = p.WriteRawFrame(xhttp2.FrameHeaders, 0, 3, p.Head(":method", "GET"))
			return p
		}, nil, "GOAWAY NO_ERROR", true},
		"window": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr, window(0))
			p.Ask(1, true, "GET", "/big")
			p.Want("1 HEADERS 200", "1 RST_STREAM INTERNAL_ERROR")
			return p
		}, nil, "GOAWAY NO_ERROR", true},
		"window for an answer of ours": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr, window(0))
			p.Ask(1, true, "GET", "/%00")
			p.Want("1 HEADERS 400", "1 RST_STREAM CANCEL")
			return p
		}, nil, "GOAWAY NO_ERROR", true},
		"reading": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			for id := uint32(1); id < 32; id += 2 {
				p.Ask(id, true, "GET", "/big")
			}
			time.Sleep(5 * time.Second)
			return p
		}, nil, "", true},
		"body": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, false, "POST", "/wait", "content-length", "9")
			p.Want("1 HEADERS 408", "1 DATA The request did not arrive in time.\n end", "1 RST_STREAM NO_ERROR")
			return p
		}, nil, "GOAWAY NO_ERROR", true},
		"body on a connection that was used": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, true, "GET", "/")
			p.Want("1 HEADERS 200", "1 DATA ok end")
			p.Ask(3, false, "POST", "/wait", "content-length", "9")
			p.Want("3 HEADERS 408", "3 DATA The request did not arrive in time.\n end", "3 RST_STREAM NO_ERROR")
			return p
		}, nil, "GOAWAY NO_ERROR", true},
		"half of a body": {func(t *testing.T, addr string) *l7test.FrameClient {
			p := l7test.DialFrames(t, addr)
			p.Ask(1, false, "POST", "/wait")
			_ = p.WriteData(1, false, []byte("half"))
			p.Want("1 HEADERS 408", "1 DATA The request did not arrive in time.\n end", "1 RST_STREAM NO_ERROR")
			return p
		}, nil, "GOAWAY NO_ERROR", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				for {
					head, err := r.Head()
					switch {
					case err != nil:
						return
					case strings.Contains(head, "/wait"):
						_, _ = io.Copy(io.Discard, r.Unrecorded())
						return
					case strings.Contains(head, "/big"):
						r.Say("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n" + strings.Repeat("x", 4<<20))
					case strings.Contains(head, "/ws"):
						r.Say(l7test.AcceptSocket(head) + "hello")
						_, _ = io.Copy(io.Discard, r.Unrecorded())
						return
					default:
						r.Say(ok)
					}
				}
			})
			a := l7test.New(t, 1)
			addr := a.Serve(func(h *farm.HTTP) { h.RequestTimeout = 1 }, l7test.Service("web", b.Addr))
			p := c.connect(t, addr)
			over := make(chan struct{})
			if c.drip != nil {
				go func() {
					for tick := time.NewTicker(100 * time.Millisecond); ; {
						select {
						case <-tick.C:
							c.drip(p)
						case <-over:
							return
						}
					}
				}()
			}
			frames := p.Ended()
			close(over)
			if last := strings.Join(frames, "\n"); c.last != "" && !strings.HasSuffix(last, c.last) {
				t.Errorf("ends with %.100q, want %s", last, c.last)
			}
			if n := a.Segment.SumFarm(1).Timeouts; (n > 0) != c.counted {
				t.Errorf("%d time-outs are counted", n)
			}
			idle(t, a)
		})
	}
}

// A slow reader gets the whole response.
func TestHTTP2SlowReaderThatReadsIsServed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	p := l7test.DialFrames(t, a.Serve(quick, l7test.Service("web", b.Addr)), xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 1 << 20})
	p.Ask(1, true, "GET", "/big")
	p.Want("1 HEADERS 200")
	got := 0
	for begin := time.Now(); got < 4<<20; {
		if time.Since(begin) < 4*time.Second {
			time.Sleep(100 * time.Millisecond)
		}
		f := p.Next()
		n := len(strings.TrimSuffix(strings.TrimPrefix(f, "1 DATA "), " end"))
		if !strings.HasPrefix(f, "1 DATA ") {
			t.Fatalf("%s after %d bytes", f, got)
		}
		got += n
		if n > 0 {
			_ = p.WriteWindowUpdate(1, uint32(n))
		}
	}
	_ = p.Conn.Close()
	idle(t, a)
}
