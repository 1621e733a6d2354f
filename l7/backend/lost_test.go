package backend_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/l7test"
)

// The error an exchange gets decides about retries and blame.
func TestStreamErrorsAreClassified(t *testing.T) {
	t.Parallel()
	reset := func(code xhttp2.ErrCode) func(s *l7test.FrameServer) {
		return func(s *l7test.FrameServer) { _ = s.WriteRSTStream(1, code) }
	}
	for name, c := range map[string]struct {
		does func(s *l7test.FrameServer)
		want backend.Error
	}{
		"not looked at":         {reset(xhttp2.ErrCodeRefusedStream), backend.Error{Reason: "backend refuses the stream", Broke: true, Unprocessed: true}},
		"first code":            {reset(xhttp2.ErrCodeNo), backend.Error{Reason: "backend reset the stream: NO_ERROR"}},
		"last code":             {reset(xhttp2.ErrCodeHTTP11Required), backend.Error{Reason: "backend reset the stream: HTTP_1_1_REQUIRED"}},
		"first unknown code":    {reset(xhttp2.ErrCodeHTTP11Required + 1), backend.Error{Reason: "backend reset the stream: INTERNAL_ERROR"}},
		"going away":            {func(s *l7test.FrameServer) { _ = s.WriteGoAway(0, xhttp2.ErrCodeNo, nil) }, backend.Error{Reason: "backend refuses the stream", Broke: true, Unprocessed: true}},
		"malformed answer":      {func(s *l7test.FrameServer) { s.Head(1, true, "20") }, backend.Error{Reason: "malformed status", Broke: true}},
		"broken connection":     {func(s *l7test.FrameServer) { s.Head(2, true, "200") }, backend.Error{Reason: "frame on an idle stream", Lost: true, Broke: true}},
		"end of the connection": {func(s *l7test.FrameServer) { _ = s.Conn.Close() }, backend.Error{Reason: "connection ended before the answer", Lost: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
				if strings.HasPrefix(frame, "1 GET") {
					c.does(s)
				}
			})
			e := newDesk(t, addr).exchange("/").start()
			e.wants("connected, own true")
			e.wants(c.want.Reason)
			if e.why == nil || *e.why != c.want {
				t.Errorf("got %+v, want %+v", e.why, c.want)
			}
		})
	}
}

func TestBackendOfAnotherProtocolIsNotRetried(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		_, _ = io.ReadFull(c, make([]byte, len(xhttp2.ClientPreface)))
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
	})
	e := newDesk(t, b.Addr).exchange("/").start()
	e.wants("connected, own true")
	e.wants("backend does not speak HTTP/2")
	if want := (backend.Error{Reason: "backend does not speak HTTP/2", Broke: true}); *e.why != want {
		t.Errorf("got %+v", e.why)
	}
}

func TestAnyFrameEndsTheDoubt(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		if answerAll(s, frame); frame == "PING" {
			_ = s.WriteWindowUpdate(0, 1)
		}
	})
	d := newDesk(t, addr)
	first, late, patient := d.exchange("/end"), d.exchange("/"), d.exchange("/")
	first.start().wants("connected, own true")
	first.wants("answered") // all bytes of the backend have been read
	late.start()
	patient.start()
	d.on(func() { late.SetDeadline(d.loop.Now() + 1) })
	enginetest.Advance(d.loop, 2*time.Second)
	late.wants("expired")
	want(t, said, "1 GET /end end", "3 GET / end", "5 GET / end", "3 RST_STREAM CANCEL", "PING")
	enginetest.Eventually(t, "the connection is used again", func() bool { return d.exchange("/").start().reused })
	if enginetest.Advance(d.loop, 8*time.Second); len(patient.heard) != 0 {
		t.Errorf("on a connection that lives it hears %q", <-patient.heard)
	}
}

// stuck leaves the connections of a backend unread until free is called, and fills the first
// until it gets no more requests. It returns the exchanges in progress there.
func stuck(t *testing.T, free func(s *l7test.FrameServer)) (under []*exchange) {
	t.Helper()
	addr, _ := l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		id, path := s.Request()
		if s.Answer(id, path); s.N == 1 {
			free(s)
		}
	}, concurrent(128))
	d := newDesk(t, addr)
	first := d.exchange("/end").start()
	first.wants("connected, own true")
	first.wants("answered")
	long := strings.Repeat("x", 60<<10)
	for range 127 {
		e := d.exchange("/" + long).start()
		if !e.reused {
			return under
		}
		under = append(under, e)
	}
	t.Fatal("127 requests of 60 KiB wait for a stalled backend")
	return nil
}

func TestStuckConnectionKeepsOnlyItsRequests(t *testing.T) {
	t.Parallel()
	read := make(chan bool)
	under := stuck(t, func(s *l7test.FrameServer) {
		<-read
		for f, err := s.ReadFrame(); err == nil; f, err = s.ReadFrame() {
			switch f.(type) { // heads, while these come in parts
			case *xhttp2.HeadersFrame, *xhttp2.ContinuationFrame:
				if f.Header().Flags.Has(xhttp2.FlagHeadersEndHeaders) {
					s.Answer(f.Header().StreamID, "ok")
				}
			}
		}
	})
	close(read)
	for _, e := range under {
		e.wants("answered")
	}
}

// Only requests that were not written at all are certainly safe to repeat.
func TestUnwrittenRequestsAreRepeatable(t *testing.T) {
	t.Parallel()
	for range 10 { // the kernel may have accepted all of them by the time the connection ends
		heard := heardAtTheEnd(t)
		lost := strings.TrimRight(heard, "u")
		if lost == "" || strings.Contains(lost, "u") {
			t.Fatalf("in the order they came: %s", heard)
		}
		if lost != heard {
			return
		}
	}
	t.Error("all requests were written each time")
}

// heardAtTheEnd returns for each request of a stuck connection, in order, whether it is lost
// or unwritten.
func heardAtTheEnd(t *testing.T) (heard string) {
	t.Helper()
	end := make(chan bool)
	under := stuck(t, func(s *l7test.FrameServer) {
		<-end
		_ = s.Conn.Close()
	})
	close(end)
	for _, e := range under {
		switch got := <-e.heard; got {
		case backend.ErrLost.Reason:
			heard += "l"
		case "backend refuses the stream":
			heard += "u"
		default:
			t.Errorf("got %q", got)
		}
	}
	return heard
}

// No byte of it was sent.
func TestRequestOnAResetConnectionIsRepeatable(t *testing.T) {
	t.Parallel()
	end := make(chan bool)
	addr, _ := l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		id, path := s.Request()
		s.Answer(id, path)
		<-end
		_ = s.Conn.(interface{ SetLinger(int) error }).SetLinger(0)
		_ = s.Conn.Close()
		end <- true
	})
	d := newDesk(t, addr)
	first := d.exchange("/").start()
	first.wants("connected, own true")
	first.wants("answered")
	e := d.exchange("/")
	d.on(func() {
		end <- true
		<-end
		e.startNow()
	})
	if !e.reused {
		t.Error("it was not sent on the connection there was")
	}
	e.wants("backend refuses the stream")
}

// Received bytes are read to the end, at the pace of the client.
func TestResponseIsReadAfterConnectionEnd(t *testing.T) {
	t.Parallel()
	addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET / end" {
			s.Answer(1, strings.Repeat("0123456789", 10))
			_ = s.Conn.Close()
		}
	})
	d := newDesk(t, addr)
	e := d.exchange("/")
	e.read = func() {} // not yet
	e.start().wants("connected, own true")
	enginetest.Eventually(t, "the connection ends", func() (ended bool) {
		d.on(func() { ended = d.pool.ConnsTo(1) == 0 })
		return ended
	})
	var answer bytes.Buffer
	d.on(func() {
		e.read = func() {
			b := make([]byte, 1) // so that reading takes many turns
			switch n, err := e.Read(b); {
			case n > 0:
				answer.Write(b[:n])
				e.Again()
			default:
				e.heard <- fmt.Sprint(err, " complete: ", e.Complete(), " truncated: ", e.Truncated())
				e.FinishFor(nil, 0, true)
			}
		}
		e.Again()
	})
	e.wants("EOF complete: true truncated: false")
	if got := answer.String(); !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.HasSuffix(got, "\r\n\r\n"+strings.Repeat("0123456789", 10)) {
		t.Errorf("read %q", got)
	}
}

func TestBodyAfterStreamEndIsRefused(t *testing.T) {
	t.Parallel()
	addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET /" {
			_ = s.WriteRSTStream(1, xhttp2.ErrCodeCancel)
		}
	})
	d := newDesk(t, addr)
	e := d.exchange("/")
	e.open = true
	e.read = func() {
		e.heard <- fmt.Sprint(e.SendBody([]byte("more"), true, nil))
		e.Discard()
	}
	e.start().wants("connected, own true")
	e.wants("stream is over")
}

// A panic ends the connection of the event; all its exchanges are notified.
func TestPanicEndsOnlyItsConnection(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, answerAll)
	d := newDesk(t, addr)
	held := d.exchange("/held").start()
	held.wants("connected, own true")
	e := d.exchange("/end")
	e.read = func() {
		e.read = nil
		panic("a fault of an exchange")
	}
	e.start()
	held.wants(backend.ErrLost.Reason)
	want(t, said, "1 GET /held end", "3 GET /end end", "end")
	after := d.exchange("/end").start()
	after.wants("connected, own true")
	after.wants("answered")
}

// An exchange that ended while it waited for SETTINGS leaves no stream on the connection.
func TestRefusedUpgradeLeavesNoStream(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) { _, _ = io.Copy(io.Discard, c.TCPConn) })
	d := newDesk(t, b.Addr)
	d.exchange("/").start().wants("connected, own true")
	second := d.upgrading()
	if second.reused || len(second.heard) != 0 {
		t.Fatal("it continues before the settings of the backend are known")
	}
	enginetest.Advance(d.loop, 2*time.Second)
	second.wants("not connected, own false: backend does not speak HTTP/2")
	third := d.upgrading()
	enginetest.Advance(d.loop, 2*time.Second)
	third.wants("not connected, own false: backend does not speak HTTP/2")
	d.on(func() { d.pool.Retain(noTarget) })
	l7test.Eventually(t, "the connection without streams ends", func() bool { return b.Open() == 1 })
}
