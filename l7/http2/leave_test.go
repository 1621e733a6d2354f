package http2_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// Streams in flight when GOAWAY was sent are served.
func TestShutdownKeepsRequests(t *testing.T) {
	s := newSession(t, nil)
	s.headers(1, true, s.get())
	_, _ = s.flush()
	s.conn.Shutdown()
	s.conn.Shutdown()
	if frames := s.out(); len(frames) != 2 || frames[0] != "GOAWAY 2147483647 NO_ERROR" || frames[1] != "PING false sluice.." {
		t.Errorf("%q", frames)
	}
	s.headers(3, true, s.get()) // it crossed our GOAWAY
	_ = s.WritePing(true, [8]byte([]byte("sluice..")))
	frames, err := s.flush()
	if err != nil || !contains(frames, "GOAWAY 3 NO_ERROR") || s.conn.Streams() != 2 {
		t.Errorf("%v %q", err, frames)
	}
	s.headers(5, false, s.get("x-new", "a")) // this one did not
	_ = s.WriteData(5, false, zeros(10))
	_ = s.WriteWindowUpdate(5, 10)
	s.headers(5, true, s.fields("x-trailer", "a"))
	_ = s.WriteRSTStream(5, 8)
	_ = s.WriteWindowUpdate(7, 10)
	frames, err = s.flush()
	if err != nil || s.conn.Streams() != 2 || len(frames) != 0 {
		t.Errorf("%v %q", err, frames)
	}
	s.streams[1].Respond(ok200, true)
	if s.conn.Finished() {
		t.Error("finished with a stream open")
	}
	s.streams[3].Respond(ok200, true)
	if frames := s.out(); !s.conn.Finished() || len(frames) != 2 {
		t.Errorf("%q", frames)
	}
}

// If the client does not return the PING, the owner's timer sends the final GOAWAY.
func TestFinishEndsShutdown(t *testing.T) {
	s := newSession(t, nil)
	_, _ = s.flush()
	s.conn.Shutdown()
	s.conn.Finish()
	s.conn.Finish()
	if frames := s.out(); len(frames) != 3 || frames[2] != "GOAWAY 0 NO_ERROR" || !s.conn.Finished() {
		t.Errorf("%q", frames)
	}
}

func TestCloseResetsStreamsAndGivesBuffersBack(t *testing.T) {
	b := &counting{}
	r := &recorder{}
	sh := http2.NewShared(http2.ServerLimits(), b, clock)
	c := http2.NewServer(sh, r)
	s := newScript().greet()
	for id := uint32(1); id < 100; id += 2 {
		s.headers(id, false, s.fields(request...))
	}
	_ = s.WriteRawFrame(1, 0, 101, s.fields(request...)) // an incomplete block
	whole := s.take()
	if err := c.Receive(append(whole, 0, 0)); err != nil { // and an incomplete frame
		t.Fatal(err)
	}
	c.Close()
	c.Close()
	if n := r.count("reset"); n != 50 || c.Streams() != 0 || b.out != 0 || !c.Finished() {
		t.Errorf("%d resets, %d streams, %d buffers kept", n, c.Streams(), b.out)
	}
	for _, q := range r.streams { // later calls of the owner have no effect
		q.Respond(ok200, true)
		q.Data(zeros(1), true)
		q.Trailers(nil)
		q.Consumed(1)
		q.Reset(http2.CodeNo)
	}
	c.Shutdown()
	if err := c.Receive(whole); err == nil || len(c.Output()) != 0 {
		t.Errorf("%v, %d bytes", err, len(c.Output()))
	}
}

// counting counts the borrowed buffers.
type counting struct{ out int }

func (b *counting) Grow(p []byte, n int) []byte {
	if p == nil {
		b.out++
	}
	if cap(p)-len(p) < n {
		p = append(make([]byte, 0, 2*(len(p)+n)), p...)
	}
	return p
}

func (b *counting) Put([]byte) { b.out-- }

// Handlers may end their stream within any event; the rest of the read is processed.
func TestHandlersMayEndStreamsWithinEvents(t *testing.T) {
	for name, act := range map[string]func(s *session, q *http2.Stream){
		"answer":          func(s *session, q *http2.Stream) { q.Respond(ok200, true) },
		"answer and data": func(s *session, q *http2.Stream) { q.Respond(ok200, false); q.Data(zeros(10), true) },
		"reset":           func(s *session, q *http2.Stream) { q.Reset(http2.CodeCancel) },
		"both": func(s *session, q *http2.Stream) {
			q.Respond(ok200, true)
			q.Reset(http2.CodeNo)
			q.Reset(http2.CodeNo)
		},
		"late answer": func(s *session, q *http2.Stream) { q.Reset(http2.CodeNo); q.Respond(ok200, true); q.Data(nil, true) },
		"close":       func(s *session, q *http2.Stream) { s.conn.Close() },
		"shutdown":    func(s *session, q *http2.Stream) { s.conn.Shutdown() },
	} {
		for _, in := range []string{"head", "data"} {
			t.Run(name+" in "+in, func(t *testing.T) {
				s := newSession(t, nil)
				do := func(q *http2.Stream) { act(s, q) }
				if in == "head" {
					s.onHead = do
				} else {
					s.onData = func(q *http2.Stream, _ []byte) { do(q) }
				}
				for id := uint32(1); id < 10; id += 2 {
					s.post(id)
					_ = s.WriteData(id, false, zeros(100))
					_ = s.WriteData(id, false, zeros(100))
					s.headers(id, true, s.fields("x-a", "b"))
				}
				frames, err := s.flush()
				if name == "close" {
					if err == nil || s.count("head") != 1 || len(frames) != 0 {
						t.Errorf("%v %q %q", err, frames, s.events)
					}
					return
				}
				if err != nil || s.count("head") != 5 {
					t.Errorf("%v %q", err, s.events)
				}
			})
		}
	}
}

func TestUnfinishedReportsIncompleteInput(t *testing.T) {
	s := newSession(t, nil)
	greeting := s.take()
	step := func(name string, b []byte, want bool) {
		t.Helper()
		if err := s.conn.Receive(b); err != nil || s.conn.Unfinished() != want {
			t.Errorf("%s: %v, unfinished %v", name, err, !want)
		}
	}
	step("half of the preface", greeting[:10], true)
	step("no settings", greeting[10:24], true)
	step("settings", greeting[24:], false)
	s.post(1)
	_ = s.WriteData(1, true, zeros(10))
	b := s.take()
	step("half of a head", b[:20], true)
	step("half of the data", b[20:len(b)-5], true)
	step("all", b[len(b)-5:], false)
	_ = s.WriteRawFrame(1, 0, 3, s.get())
	step("block that goes on", s.take(), true)
	_ = s.WriteContinuation(3, true, nil)
	step("block that ends", s.take(), false)
}
