package proxy_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

const (
	askTunnel = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
	switches  = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
)

// pausing is one end of a tunnel. It sends size bytes, and reads only after it is blocked or
// done.
func pausing(t *testing.T, seed byte, out io.Writer, in io.Reader, size int64) (sent, got string) {
	var wrote atomic.Int64
	sum, done := sha256.New(), make(chan struct{})
	go func() {
		defer close(done)
		r := rand.NewChaCha8([32]byte{seed})
		for range size >> 16 {
			n, err := io.CopyN(io.MultiWriter(out, sum), r, 1<<16)
			if wrote.Add(n); err != nil {
				return
			}
		}
	}()
	last, since := int64(-1), time.Now()
	l7test.Eventually(t, "it is stuck or done", func() bool {
		if n := wrote.Load(); n != last {
			last, since = n, time.Now()
		}
		return last == size || time.Since(since) > 50*time.Millisecond
	})
	other := sha256.New()
	if n, err := io.CopyN(other, in, size); err != nil {
		t.Errorf("%d of %d bytes came: %v", n, size, err)
	}
	<-done
	return fmt.Sprintf("%x", sum.Sum(nil)), fmt.Sprintf("%x", other.Sum(nil))
}

func TestTunnelCarriesAndCountsEveryByteBetweenEndsThatPause(t *testing.T) {
	t.Parallel()
	const size, burst = 24 << 20, 2 << 20 // more and less than the kernel buffers
	a := l7test.New(t, 1)
	sums := make(chan [2]string, 1)
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = c.Head()
		c.Say(switches + "hello")
		sent, got := pausing(t, 1, c.TCPConn, c.Unrecorded(), size)
		sums <- [2]string{sent, got}
		release := held(a) // so that all arrives at once, and exceeds the reads of one turn
		_, _ = c.TCPConn.Write(make([]byte, burst))
		release()
		_, _ = io.Copy(io.Discard, c.Unrecorded()) // until the client has ended
	})
	addr := a.Serve(logs, l7test.Service("web", b.Addr))
	r := l7test.RecordsOf(t, a)
	c := l7test.Dial(t, addr)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c.TCPConn, askTunnel)
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\nhello")) {
		one, err := c.Reader().ReadByte()
		if err != nil {
			t.Fatalf("got %q, %v", head, err)
		}
		head = append(head, one)
	}
	sent, got := pausing(t, 2, c.TCPConn, c.Reader(), size)
	if b := <-sums; b[1] != sent || b[0] != got {
		t.Error("the received bytes differ from the sent ones")
	}
	if n, err := io.CopyN(io.Discard, c.Reader(), burst); err != nil {
		t.Errorf("%d of %d bytes came: %v", n, burst, err)
	}
	_ = c.CloseWrite()
	if rest := c.Rest(); rest != "" {
		t.Errorf("more came: %q", rest)
	}
	l := r.Next()
	in, out := uint64(len(askTunnel)+size), uint64(len(head)+size+burst)
	if l.Flags&^accesslog.Logged != accesslog.Tunnel || l.BytesIn != in || l.BytesOut != out {
		t.Errorf("recorded: flags %v, %d bytes in, %d out; want %d, %d", l.Flags, l.BytesIn, l.BytesOut, in, out)
	}
	f, s := a.Segment.SumFarm(1), a.Segment.SumBackend(1)
	asked := uint64(len(b.Received()))
	if f.BytesIn != in || f.BytesOut != out || s.BytesOut != asked+size || s.BytesIn != out {
		t.Errorf("counted: %d in, %d out, to the backend %d, from it %d; want %d, %d, %d, %d",
			f.BytesIn, f.BytesOut, s.BytesOut, s.BytesIn, in, out, asked+size, out)
	}
}

// A reset ends both directions and is forwarded.
func TestTunnelEndsForBothWhenOneEndBreaks(t *testing.T) {
	t.Parallel()
	const much = 16 << 20
	for name, end := range map[string]func(client *l7test.Client, backend *l7test.Recorder){
		"the client resets":  func(c *l7test.Client, _ *l7test.Recorder) { _ = c.SetLinger(0); _ = c.Close() },
		"the backend resets": func(_ *l7test.Client, b *l7test.Recorder) { _ = b.SetLinger(0); _ = b.Close() },
		"the backend resets while much is to come": func(c *l7test.Client, b *l7test.Recorder) {
			sent := make(chan bool)
			go func() { _, _ = c.Write(make([]byte, much)); close(sent) }()
			_, _ = io.CopyN(io.Discard, b.TCPConn, much/4)
			_ = b.SetLinger(0)
			_ = b.Close()
			<-sent
		},
		"the client resets while much is to come": func(c *l7test.Client, b *l7test.Recorder) {
			sent := make(chan bool)
			go func() { _, _ = b.TCPConn.Write(make([]byte, much)); close(sent) }()
			_, _ = io.CopyN(io.Discard, c.TCPConn, much/4)
			_ = c.SetLinger(0)
			_ = c.Close()
			<-sent
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tunnels, over := make(chan *l7test.Recorder, 1), make(chan bool)
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				_, _ = c.Head()
				c.Say(switches)
				tunnels <- c
				<-over
			})
			t.Cleanup(func() { close(over) })
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(logs, l7test.Service("web", b.Addr))).Send(askTunnel)
			if line := status(t, client); !strings.Contains(line, "101") {
				t.Fatal(line)
			}
			r := l7test.RecordsOf(t, a)
			backend := <-tunnels
			end(client, backend)
			l7test.Eventually(t, "nothing is under way", func() bool {
				f, s := a.Segment.SumFarm(1), a.Segment.SumBackend(1)
				return f.Established == 0 && s.Established == 0
			})
			if l := r.Next(); l.Flags&^accesslog.Logged&^accesslog.AbortedByClient != accesslog.Tunnel || l.Status != 101 {
				t.Errorf("recorded as %v with status %d", l.Flags, l.Status)
			}
			if strings.HasPrefix(name, "the client") {
				_ = backend.SetReadDeadline(time.Now().Add(5 * time.Second))
				if n, err := io.Copy(io.Discard, backend.TCPConn); err != nil && strings.Contains(err.Error(), "timeout") {
					t.Errorf("the backend gets no end: %d bytes, %v", n, err)
				}
				return
			}
			_ = client.SetReadDeadline(time.Now().Add(5 * time.Second))
			if n, err := io.Copy(io.Discard, client.TCPConn); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Errorf("the client gets no end: %d bytes, %v", n, err)
			}
		})
	}
}

// A service's response settings apply to protocol switches, too.
func TestSwitchOfProtocolsIsAnAnswerOfTheService(t *testing.T) {
	t.Parallel()
	x := "X: " + strings.Repeat("x", 5000)
	grow := []farm.HeaderReplace{{Header: "^X$", Match: "(.*)", Replace: strings.Repeat("$1", 20)}}
	for name, c := range map[string]struct {
		says   string
		edit   func(s *farm.Service)
		want   string // in the head
		reason string // of a refusal
	}{
		"as it is":      {switches, func(*farm.Service) {}, "HTTP/1.1 101 Switching Protocols\r\n", ""},
		"lines added":   {switches, func(s *farm.Service) { s.AddResponse = l7test.Add("X-More: 1") }, "X-More: 1\r\n", ""},
		"lines changed": {strings.Replace(switches, "\r\n\r\n", "\r\nX: a\r\n\r\n", 1), func(s *farm.Service) { s.ReplaceResponse = grow }, "X: " + strings.Repeat("a", 20) + "\r\n", ""},
		"too long then": {strings.Replace(switches, "\r\n\r\n", "\r\n"+x+"\r\n\r\n", 1), func(s *farm.Service) { s.ReplaceResponse = grow }, "", "head too long"},
		"with a cookie": {switches, func(s *farm.Service) { s.Cookie = l7test.Inserting().Cookie }, "Set-Cookie: ", ""},
		"to nothing":    {"HTTP/1.1 101 Switching Protocols\r\n\r\n", func(*farm.Service) {}, "", "101 without Upgrade"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := l7test.NewBackend(t, func(r *l7test.Recorder) {
				_, _ = r.Head()
				r.Say(c.says)
				_, _ = io.Copy(io.Discard, struct{ io.Reader }{r})
			})
			s := l7test.Service("web", b.Addr)
			c.edit(&s)
			a := l7test.New(t, 1)
			client := l7test.Dial(t, a.Serve(nil, s)).Send(askTunnel)
			_ = client.CloseWrite()
			got := client.Rest()
			if c.reason != "" {
				if !strings.HasPrefix(got, "HTTP/1.1 502 ") {
					t.Errorf("got %q", got)
				}
				oneLine(t, a, client, "bad-answer", c.reason, "backend="+b.Addr+" status=502")
				return
			}
			if !strings.HasPrefix(got, "HTTP/1.1 101 ") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q in it", got, c.want)
			}
		})
	}
}

// A stream that requests a tunnel and gets an ordinary response must not become a tunnel.
func TestStreamThatWantsATunnelGetsNoOrdinaryAnswer(t *testing.T) {
	t.Parallel()
	for says, want := range map[string]string{ok: "502", strings.Replace(ok, "200 OK", "403 No", 1): "403"} {
		b := l7test.NewBackend(t, l7test.Answer(says))
		p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, l7test.Service("web", b.Addr)))
		p.Ask(1, false, "CONNECT", "/ws", ":protocol", "websocket")
		p.Want("1 HEADERS " + want)
	}
}
