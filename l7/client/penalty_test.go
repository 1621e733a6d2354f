package client_test

import (
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// floodTimes makes connections that end because of too many resets.
func floodTimes(t *testing.T, addr string, times int) {
	t.Helper()
	for range times {
		p := l7test.DialFrames(t, addr)
		together(t, p, func() {
			for id := uint32(1); id < 400; id += 2 {
				p.Ask(id, true, "GET", "/not")
				_ = p.WriteRSTStream(id, xhttp2.ErrCodeCancel)
			}
		})
		if frames := strings.Join(p.Ended(), "\n"); !strings.Contains(frames, "GOAWAY ENHANCE_YOUR_CALM") {
			t.Fatalf("a flood ended with %q", frames)
		}
	}
}

// answerTo is closed after the response to the peer's request.
func answerTo(p *l7test.FrameClient) <-chan struct{} {
	p.Ask(1, true, "GET", "/")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f := p.Next(); f != "end" && !strings.HasPrefix(f, "1 HEADERS"); f = p.Next() {
		}
	}()
	return done
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestFloodingClientsAreDelayed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 2)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	early := l7test.DialFrames(t, addr)
	early.Ask(1, true, "GET", "/")
	early.Want("1 HEADERS 200", "1 DATA ok end")
	floodTimes(t, addr, 6) // one after the other, each later than the last
	slow := answerTo(l7test.DialFrames(t, addr))

	early.Ask(3, true, "GET", "/")
	early.Want("3 HEADERS 200", "3 DATA ok end")
	c := l7test.Dial(t, addr)
	_, _ = io.WriteString(c.TCPConn, get("/"))
	if res, err := http.ReadResponse(c.Reader(), nil); err != nil || res.StatusCode != 200 {
		t.Fatalf("a client of HTTP/1: %v %v", res, err)
	}
	<-answerTo(newPeerFrom(t, "127.0.0.2", addr))
	if isDone(slow) {
		t.Error("a client from the address of a flood was served without a delay")
	}
	<-slow
	delayed := uint64(0)
	for i := range a.Loops {
		delayed += a.Segment.Shard(i).Loop().HTTP2Delayed
	}
	if delayed != 6 {
		t.Errorf("%d connections were counted as delayed, want 6", delayed)
	}
}

// newPeerFrom is a client from another local address.
func newPeerFrom(t *testing.T, source, addr string) *l7test.FrameClient {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return l7test.NewFrameClient(t, c).Greet()
}

func TestDelayedClientsMayLeave(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	addr := a.Serve(nil, l7test.Service("web", b.Addr))
	floodTimes(t, addr, 5)
	first, second := l7test.DialFrames(t, addr), l7test.DialFrames(t, addr)
	slow := answerTo(first)
	l7test.Eventually(t, "both wait", func() bool { return a.Segment.Shard(0).Loop().HTTP2Delayed == 4+2 })
	_ = second.Conn.Close()
	l7test.Eventually(t, "one is let go", func() bool { return a.Segment.SumFarm(1).Established == 1 })
	if isDone(slow) {
		t.Error("it was released after its delay, not before")
	}
	_ = first.Conn.Close()
	idle(t, a)
}

func TestTrustedPeersAreNotDelayed(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, scripted)
	a := l7test.New(t, 1)
	addr := a.Serve(func(h *farm.HTTP) {
		h.Trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}, l7test.Service("web", b.Addr))
	floodTimes(t, addr, 3)
	<-answerTo(l7test.DialFrames(t, addr))
	if n := a.Segment.Shard(0).Loop().HTTP2Delayed; n != 0 {
		t.Errorf("%d connections were delayed", n)
	}
}
