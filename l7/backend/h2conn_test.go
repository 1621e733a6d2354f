package backend_test

import (
	"strings"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/l7test"
)

// noTarget is the argument of Retain for a backend that is out of use.
func noTarget(uint32) *dial.Target { return nil }

// saying starts a backend without responses of its own. script gets each connection and
// frame; said receives the frames and "end" at the end of the connection.
func saying(t *testing.T, script func(s *l7test.FrameServer, frame string), settings ...xhttp2.Setting) (addr string, said chan string) {
	said = make(chan string, 1000)
	addr, _ = l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		for f := ""; f != "end"; {
			f = s.Next()
			said <- f
			if script != nil {
				script(s, f)
			}
		}
	}, settings...)
	return addr, said
}

// want checks the next frames that the backend receives.
func want(t *testing.T, said chan string, frames ...string) {
	t.Helper()
	for _, f := range frames {
		select {
		case got := <-said:
			if got != f {
				t.Fatalf("the backend got %q, want %q", got, f)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("the backend got nothing, want %q", f)
		}
	}
}

func answerAll(s *l7test.FrameServer, frame string) {
	if id, path, ok := strings.Cut(frame, " GET "); ok && strings.HasPrefix(path, "/end") {
		s.Answer(uint32(id[0]-'0'), "ok")
	}
}

// The waiting exchange may be repeated, because the backend has not processed the request.
func TestAbandonedConnectCarriesNoRequest(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, answerAll)
	d := newDesk(t, addr)
	first, second := d.exchange("/end?1"), d.exchange("/end?2")
	d.on(func() {
		first.startNow()
		d.pool.Retain(noTarget)
		second.startNow()
	})
	first.wants("connected, own true")
	first.wants("backend refuses the stream")
	second.wants("connected, own true") // on its own connection
	second.wants("answered")
	got := map[string]int{}
	for range 3 {
		got[<-said]++
	}
	if got["1 GET /end?2 end"] != 1 || got["GOAWAY NO_ERROR"] != 1 || got["end"] != 1 {
		t.Errorf("the backend got %v", got)
	}
}

func TestConnectionsToABackendThatMovedEnd(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, answerAll)
	d := newDesk(t, addr)
	e := d.exchange("/end").start()
	e.wants("connected, own true")
	e.wants("answered")
	d.on(func() { d.pool.Retain(func(uint32) *dial.Target { return &d.to }) })
	again := d.exchange("/end").start()
	again.wants("answered")
	d.on(func() {
		elsewhere := d.to
		elsewhere.Options.Mark++
		d.pool.Retain(func(uint32) *dial.Target { return &elsewhere })
	})
	want(t, said, "1 GET /end end", "3 GET /end end", "GOAWAY NO_ERROR", "end")
}

func TestAReservedConnectionGetsNoOtherExchange(t *testing.T) {
	t.Parallel()
	addr, came := holding(t)
	d := newDesk(t, addr)
	e := d.exchange("/held").start()
	e.wants("connected, own true")
	d.on(e.Reserve)
	other := d.exchange("/end").start()
	other.wants("connected, own true")
	other.wants("answered")
	if one, two := <-came, <-came; one == two {
		t.Error("both came on one connection")
	}
}

// A PROXY header describes one client, but the connection is shared.
func TestAPrefaceIsNotSent(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, answerAll)
	e := newDesk(t, addr).exchange("/end").start(func(to *dial.Target, _ *backend.Ask) { to.Options.Preface = []byte("PROXY UNKNOWN\r\n") })
	e.wants("connected, own true")
	e.wants("answered")
	want(t, said, "1 GET /end end")
}

// If a connection fails, every exchange waiting for it is notified. The flag own is true only
// for the exchange that requested it.
func TestConnectFailureReachesAllWaitingExchanges(t *testing.T) {
	t.Parallel()
	l := l7test.NewBackend(t, func(*l7test.Recorder) {})
	l.Close()
	d := newDesk(t, l.Addr)
	first, second := d.exchange("/"), d.exchange("/")
	d.on(func() {
		first.startNow()
		second.startNow()
	})
	for _, e := range []*exchange{first, second} {
		e.wants("not connected, own true: connect: connection refused")
	}
}

func TestOneExchangeOwnsANewConnection(t *testing.T) {
	t.Parallel()
	addr, _ := holding(t)
	d := newDesk(t, addr)
	first, second := d.exchange("/end"), d.exchange("/end")
	d.on(func() {
		first.startNow()
		second.startNow()
	})
	first.wants("connected, own true")
	second.wants("connected, own false")
	first.wants("answered")
	second.wants("answered")
}

// A connection whose backend sends data is not suspect.
func TestActiveBackendIsNotPinged(t *testing.T) {
	t.Parallel()
	stop := make(chan bool)
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET /held end" {
			go func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(50 * time.Millisecond):
						_ = s.WriteWindowUpdate(0, 1)
					}
				}
			}()
		}
	})
	d := newDesk(t, addr)
	e := d.exchange("/held").start()
	e.wants("connected, own true")
	d.on(func() { e.SetDeadline(d.loop.Now() + int64(time.Second)) })
	e.wants("expired")
	close(stop)
	d.exchange("/after").start()
	want(t, said, "1 GET /held end", "1 RST_STREAM CANCEL", "3 GET /after end")
}

func TestUnansweredPingEndsAllExchanges(t *testing.T) {
	t.Parallel()
	pinged := make(chan bool, 1)
	addr, _ := l7test.NewFrameServer(t, func(s *l7test.FrameServer) {
		for f := ""; f != "PING"; {
			f = s.Next()
		}
		pinged <- true
	})
	d := newDesk(t, addr)
	late, patient := d.exchange("/"), d.exchange("/")
	late.start().wants("connected, own true")
	patient.start()
	d.on(func() { late.SetDeadline(d.loop.Now() + int64(3*time.Second)) })
	enginetest.Advance(d.loop, 2*time.Second)
	if len(late.heard) > 0 {
		t.Errorf("before its deadline it hears %q", <-late.heard)
	}
	enginetest.Advance(d.loop, 2*time.Second)
	late.wants("expired")
	<-pinged
	enginetest.Advance(d.loop, 4*time.Second)
	if len(patient.heard) > 0 {
		t.Errorf("before the PING is late it hears %q", <-patient.heard)
	}
	enginetest.Advance(d.loop, 2*time.Second)
	patient.wants("connection is dead: no answer to a PING")
	if !patient.why.Lost || patient.why.Broke {
		t.Errorf("the error is %+v", patient.why)
	}
}

func TestProtocolErrorSendsGoaway(t *testing.T) {
	t.Parallel()
	addr, said := saying(t, func(s *l7test.FrameServer, frame string) {
		if frame == "1 GET / end" {
			_ = s.WriteRawFrame(xhttp2.FrameData, 0, 0, nil)
		}
	})
	e := newDesk(t, addr).exchange("/").start()
	e.wants("connected, own true")
	e.wants("frame on a stream it cannot be on")
	want(t, said, "1 GET / end", "GOAWAY PROTOCOL_ERROR", "end")
}

// quiet is an owner that keeps its stream after the deadline.
type quiet struct{ *exchange }

func (q *quiet) BackendExpired() { q.heard <- "expired" }

func TestDeadlineFiresOnce(t *testing.T) {
	t.Parallel()
	addr, _ := holding(t)
	d := newDesk(t, addr)
	e := d.exchange("/held").start()
	e.wants("connected, own true")
	later := d.exchange("/held")
	later.start(func(_ *dial.Target, ask *backend.Ask) { ask.Owner = &quiet{later} })
	d.on(func() {
		later.SetDeadline(d.loop.Now() + 1)
		e.SetDeadline(d.loop.Now() + int64(2500*time.Millisecond)) // deadlines are checked every second
	})
	later.wants("expired")
	e.wants("expired")
	if n := len(later.heard); n != 0 {
		t.Errorf("%d more events", n)
	}
}
