package backend_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// finishEarly makes the exchange finish after the response head and that many bytes.
func (e *exchange) finishEarly(bytes int) *exchange {
	e.read = func() {
		if n, _ := e.Read(make([]byte, bytes)); n > 0 {
			e.heard <- "finished"
			e.Finish(true)
		}
	}
	return e
}

func TestStreamEndIsAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last func(s *l7test.FrameServer)
		says []string // frames the backend receives
	}{
		"it ends":            {func(s *l7test.FrameServer) { _ = s.WriteData(1, true, nil) }, nil},
		"it is reset":        {func(s *l7test.FrameServer) { _ = s.WriteRSTStream(1, xhttp2.ErrCodeInternal) }, nil},
		"bytes nobody reads": {func(s *l7test.FrameServer) { _ = s.WriteData(1, false, []byte("more")) }, []string{"1 RST_STREAM CANCEL"}},
	} {
		t.Run(name, func(t *testing.T) {
			end := make(chan bool)
			addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
				if frame == "1 GET / end" {
					s.Head(1, false, "200")
					<-end
					c.last(s)
				}
			})
			d := newDesk(t, addr)
			e := d.exchange("/").finishEarly(4096).start()
			e.wants("connected, own true")
			e.wants("finished")
			d.on(func() { d.pool.Retain(noTarget) }) // the connection closes after its last stream
			end <- true
			want(t, said, append(append([]string{"1 GET / end", "GOAWAY NO_ERROR"}, c.says...), "end")...)
		})
	}
}

func TestUnendedStreamIsReset(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET / end" {
			s.Head(1, false, "200", "content-length", "0")
		}
	})
	e := newDesk(t, addr).exchange("/").finishEarly(4096).start()
	e.wants("connected, own true")
	e.wants("finished")
	want(t, said, "1 GET / end")
	if enginetest.Advance(e.loop, time.Second); len(said) > 0 {
		t.Errorf("at once the backend hears %q", <-said)
	}
	enginetest.Advance(e.loop, 2*time.Second)
	want(t, said, "1 RST_STREAM CANCEL")
}

// An incomplete stream is reset at once.
func TestIncompleteStreamIsResetAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open  bool // the request is incomplete
		bytes int  // number of bytes read
		asks  string
	}{"of the answer": {false, 10, "1 GET / end"}, "of the request": {true, 4096, "1 GET /"}} {
		t.Run(name, func(t *testing.T) {
			addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
				if frame == c.asks {
					var b bytes.Buffer
					f := xhttp2.NewFramer(&b, nil)
					_ = f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: s.Encode(":status", "200")})
					_ = f.WriteData(1, c.open, []byte("some"))
					_, _ = s.Conn.Write(b.Bytes())
				}
			})
			d := newDesk(t, addr)
			e := d.exchange("/").finishEarly(c.bytes)
			e.open = c.open
			e.start().wants("connected, own true")
			e.wants("finished")
			d.exchange("/next").start()
			want(t, said, c.asks, "1 RST_STREAM CANCEL", "3 GET /next end")
		})
	}
}

func TestBodiesWaitForTheWindow(t *testing.T) {
	t.Parallel()
	opened := make(chan bool)
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		answerAll(s, frame)
		if frame == "3 GET /" {
			<-opened
			_ = s.WriteWindowUpdate(3, 5)
		}
	}, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 0})
	d := newDesk(t, addr)
	first := d.exchange("/end").start() // the window is known from here on
	first.wants("connected, own true")
	<-first.heard
	e := d.exchange("/")
	e.open = true
	e.start()
	d.on(func() {
		if e.Pending() == 0 {
			t.Error("body bytes are requested beyond the window")
		}
		if err := e.SendBody([]byte("12345"), false, nil); err != nil || e.Pending() != 5 {
			t.Errorf("%v, %d bytes wait", err, e.Pending())
		}
	})
	opened <- true
	e.wants("drained")
	d.on(func() {
		if e.Pending() == 0 {
			t.Error("the window is used up, but bytes are requested")
		}
	})
	want(t, said, "1 GET /end end")
	for f := range said {
		if f == "3 DATA 12345" {
			break
		}
	}
}

// A backend that has opened its windows sends no more events: the body continues as fast as
// the socket accepts it.
func TestLongBodyContinuesWithoutEvents(t *testing.T) {
	t.Parallel()
	addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET /end end" {
			_ = s.WriteWindowUpdate(0, 1<<20)
		}
		if strings.HasSuffix(frame, " end") {
			n, _, _ := strings.Cut(frame, " ")
			s.Answer(uint32(n[0]-'0'), "whole")
		}
	}, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 1 << 20})
	d := newDesk(t, addr)
	first := d.exchange("/end").start() // the windows are known from here on
	first.wants("connected, own true")
	first.wants("answered")
	e := d.exchange("/")
	e.open = true
	e.start()
	d.on(func() {
		if err := e.SendBody(make([]byte, 1<<19), true, nil); err != nil {
			t.Error(err)
		}
	})
	e.wants("drained")
	e.wants("answered")
}

// leaver is an owner that discards its stream when it may send more.
type leaver struct{ *exchange }

func (l *leaver) BackendDrained() {
	l.heard <- "drained"
	l.Discard()
}

func (l *leaver) BackendReadable() { l.heard <- "readable" }

func TestDiscardedExchangeGetsNoEvents(t *testing.T) {
	t.Parallel()
	addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
		answerAll(s, frame)
		if frame == "3 GET /" {
			var b bytes.Buffer
			f := xhttp2.NewFramer(&b, nil)
			_ = f.WriteWindowUpdate(3, 5)
			_ = f.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: 3, EndStream: true, EndHeaders: true, BlockFragment: s.Encode(":status", "200")})
			_, _ = s.Conn.Write(b.Bytes()) // window update and response in one write
		}
	}, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: 0})
	d := newDesk(t, addr)
	first := d.exchange("/end").start()
	first.wants("connected, own true")
	<-first.heard
	e := d.exchange("/")
	e.open, e.request = true, e.request+"12345"
	e.start(func(_ *dial.Target, ask *backend.Ask) { ask.Owner = &leaver{e} })
	e.wants("drained")
	d.on(func() {})
	if n := len(e.heard); n != 0 {
		t.Errorf("then it hears %q", <-e.heard)
	}
}

// The requests are written at the end of the turn, without any other event on the
// connection.
func TestConcurrentRequestsAreWrittenAtTheEndOfTheTurn(t *testing.T) {
	t.Parallel()
	addr, _ := holding(t)
	d := newDesk(t, addr)
	d.exchange("/held").start().wants("connected, own true")
	over := time.After(10 * time.Second)
	for i := range 20 {
		e := d.exchange("/end").start()
		select {
		case <-e.heard:
		case <-over:
			t.Fatalf("%d requests were answered in 10 s", i)
		}
	}
}

func TestConnectionsThatEndedAreForgotten(t *testing.T) {
	t.Parallel()
	ended := make(chan bool)
	addr, _ := saying(t, func(s *l7test.FrameServer, frame string) {
		switch {
		case strings.HasSuffix(frame, "/cut end"):
			_ = s.Conn.Close()
		case strings.HasSuffix(frame, "/last end"):
			_ = s.WriteGoAway(1, xhttp2.ErrCodeNo, nil)
			s.Answer(1, "ok")
		case frame == "end":
			ended <- true
		}
	})
	d := newDesk(t, addr)
	for path, outcome := range map[string]string{"/cut": backend.ErrLost.Reason, "/last": "answered"} {
		e := d.exchange(path).start()
		e.wants("connected, own true")
		e.wants(outcome)
		<-ended
		d.on(func() {
			if n := d.pool.ConnsTo(1); n != 0 {
				t.Errorf("%s: %d closed connections are in use", path, n)
			}
		})
	}
	e := d.exchange("/held").start()
	e.wants("connected, own true")
	d.on(func() {
		if e.Reserve(); d.pool.ConnsTo(1) != 0 {
			t.Error("a connection that accepts no more streams is in use")
		}
	})
}
