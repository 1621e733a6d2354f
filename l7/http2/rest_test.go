package http2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// answeredSession is a session whose responses are sent before the request bodies arrive.
func answeredSession(t *testing.T, ids ...uint32) *session {
	t.Helper()
	s := newSession(t, nil)
	s.onHead = func(q *http2.Stream) {
		q.Respond(ok200, true)
		q.Reset(http2.CodeNo)
	}
	for _, id := range ids {
		s.post(id)
	}
	if frames, err := s.flush(); err != nil || slices.ContainsFunc(frames, isReset) || s.conn.Streams() != 0 {
		t.Fatalf("%q, %v", frames, err)
	}
	return s
}

func isReset(frame string) bool { return strings.HasPrefix(frame, "RST_STREAM") }

// wantResets checks the streams reset with NO_ERROR.
func (s *session) wantResets(t *testing.T, what string, want ...string) {
	t.Helper()
	frames, err := s.flush()
	frames = slices.DeleteFunc(frames, func(f string) bool { return !isReset(f) })
	if err != nil || !slices.Equal(frames, want) {
		t.Errorf("%s: %q, %v, want %q", what, frames, err, want)
	}
}

func TestAnAnsweredRequestMayEnd(t *testing.T) {
	s := answeredSession(t, 1)
	_ = s.WriteData(1, false, zeros(1000))
	_ = s.WriteDataPadded(1, true, zeros(1000), zeros(100))
	s.wantResets(t, "to its end")
	s.conn.Tick()
	s.conn.Tick()
	s.wantResets(t, "later")

	s = answeredSession(t, 1)
	_ = s.WriteData(1, false, zeros(1000))
	s.headers(1, true, s.fields("x-a", "b"))
	s.wantResets(t, "with trailers")

	s = answeredSession(t, 1)
	_ = s.WriteRSTStream(1, 0)
	s.wantResets(t, "reset by the client")
	s.conn.Tick()
	s.conn.Tick()
	s.wantResets(t, "reset by the client")
}

func TestContinuingAnsweredRequestIsReset(t *testing.T) {
	s := answeredSession(t, 1)
	for range 4 {
		_ = s.WriteData(1, false, zeros(16000))
	}
	s.wantResets(t, "within its window")
	_ = s.WriteData(1, false, zeros(1535))
	s.wantResets(t, "to the end of its window")
	_ = s.WriteData(1, false, zeros(1))
	s.wantResets(t, "beyond its window", "RST_STREAM 1 NO_ERROR")
	_ = s.WriteData(1, true, zeros(1000)) // was in flight
	s.wantResets(t, "after it was told")

	s = answeredSession(t, 1)
	for range 4 {
		_ = s.WriteData(1, false, zeros(16000))
	}
	_ = s.WriteData(1, false, zeros(1535))
	s.conn.Tick()
	s.wantResets(t, "at first, with an exhausted window")
	s.conn.Tick()
	s.wantResets(t, "after a while, with an exhausted window", "RST_STREAM 1 NO_ERROR")

	s = answeredSession(t, 1, 3)
	s.conn.Tick()
	s.wantResets(t, "at first")
	s.conn.Tick()
	s.wantResets(t, "after a while", "RST_STREAM 1 NO_ERROR", "RST_STREAM 3 NO_ERROR")

	s = answeredSession(t, 1, 3, 5, 7)
	s.post(9)
	s.post(11)
	s.wantResets(t, "too many at once", "RST_STREAM 1 NO_ERROR", "RST_STREAM 3 NO_ERROR")
}

// Discarded data counts as consumed, and floods of it count as floods.
func TestRestOfAnAnsweredRequestIsBounded(t *testing.T) {
	s := answeredSession(t)
	for id := uint32(1); id < 200; id += 2 { // 6 MB through a window of 256 KiB
		s.post(id)
		for range 4 {
			_ = s.WriteData(id, false, zeros(16000))
		}
		_ = s.WriteData(id, true, nil)
		s.wantResets(t, "body")
	}
	s = answeredSession(t, 1)
	for range 10_000 {
		_ = s.WriteData(1, false, nil)
	}
	if _, err := s.flush(); err != http2.ErrClosedFlood {
		t.Errorf("a flood ends with %v", err)
	}
}

// Section 5.1 applies to a stream after its response as before.
func TestStreamErrorsApplyAfterTheResponse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		why  *http2.Error
		send func(s *session)
	}{
		"window update of 0": {http2.ErrIncrement, func(s *session) { _ = s.WriteRawFrame(8, 0, 1, zeros(4)) }},
		"window overflow": {http2.ErrWindowOverflow, func(s *session) {
			_ = s.WriteWindowUpdate(1, 1<<30)
			_ = s.WriteWindowUpdate(1, 1<<30)
		}},
		"head that does not end":    {http2.ErrTrailers, func(s *session) { s.headers(1, false, s.fields("x-a", "b")) }},
		"pseudo fields in trailers": {http2.ErrPseudo, func(s *session) { s.headers(1, true, s.fields(":method", "GET")) }},
		"data beyond its length":    {http2.ErrLengthData, func(s *session) { _ = s.WriteData(1, false, zeros(1001)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := answeredSession(t)
			s.post(1, "content-length", "1000")
			if _, err := s.flush(); err != nil {
				t.Fatal(err)
			}
			c.send(s)
			s.wantResets(t, name, "RST_STREAM 1 "+c.why.Code.String())
			if n := s.sh.Count(c.why); n != 1 {
				t.Errorf("it was counted %d times", n)
			}
			_ = s.WriteData(1, false, zeros(10)) // in flight when the client receives the response
			s.wantResets(t, "later")
		})
	}
}

// Clients such as curl end an upload early when they get an error. The stream is reset, as
// the request is malformed (section 8.1.1), but the limits for misbehaving clients do not
// apply.
func TestAnUploadMayEndEarlyAfterItsResponse(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(s *session, id uint32){
		"data":     func(s *session, id uint32) { _ = s.WriteData(id, true, zeros(999)) },
		"no data":  func(s *session, id uint32) { _ = s.WriteData(id, true, nil) },
		"trailers": func(s *session, id uint32) { s.headers(id, true, s.fields("x-a", "b")) },
		"two frames": func(s *session, id uint32) {
			_ = s.WriteData(id, false, zeros(500))
			_ = s.WriteData(id, true, zeros(499))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := answeredSession(t)
			const last = 4001
			for id := uint32(1); id <= last; id += 2 {
				s.post(id, "content-length", "1000")
				if _, err := s.flush(); err != nil {
					t.Fatal(err)
				}
				send(s, id)
				s.wantResets(t, name, fmt.Sprint("RST_STREAM ", id, " PROTOCOL_ERROR"))
			}
			if n := s.sh.Count(http2.ErrLengthData); n != 0 {
				t.Errorf("%d violations were counted", n)
			}
			_ = s.WriteData(last, false, zeros(10))
			s.wantResets(t, "later")
		})
	}
}

func TestValidFramesAreAcceptedAfterTheResponse(t *testing.T) {
	t.Parallel()
	s := answeredSession(t)
	s.post(1, "content-length", "1000")
	_ = s.WriteWindowUpdate(1, 1<<30)
	_ = s.WriteData(1, false, zeros(500))
	_ = s.WriteDataPadded(1, false, zeros(500), zeros(200))
	s.headers(1, true, s.fields("x-a", "b"))
	_ = s.WriteWindowUpdate(1, 1<<31-1) // the stream is closed and has no window
	s.wantResets(t, "a whole request")
}

// A stream that the client has ended is closed by the client.
func TestFramesAfterAnEndedRequestAreErrors(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *session){
		"data":     func(s *session) { _ = s.WriteData(1, true, zeros(10)) },
		"trailers": func(s *session) { s.headers(1, true, s.fields("x-a", "b")) },
		"reset":    func(s *session) { _ = s.WriteRSTStream(1, 8) },
	} {
		s := answeredSession(t, 1)
		end(s)
		_ = s.WriteData(1, true, zeros(10))
		s.wantResets(t, name+", then data", "RST_STREAM 1 STREAM_CLOSED")
		s = answeredSession(t, 1)
		end(s)
		s.headers(1, true, s.fields("x-a", "b"))
		if _, err := s.flush(); err != http2.ErrClosed {
			t.Errorf("%s, then a head: %v", name, err)
		}
	}
	s := newSession(t, nil)
	s.onHead = func(q *http2.Stream) { q.Respond(ok200, true) }
	s.headers(1, true, s.get())
	_ = s.WriteRawFrame(8, 0, 1, zeros(4))
	s.wantResets(t, "window update of 0 on a closed stream", "RST_STREAM 1 PROTOCOL_ERROR")
}

// A client that has used up its window before the response, e.g. curl, still gets the
// response without a reset.
func TestFullWindowIsNotResetAtOnce(t *testing.T) {
	t.Parallel()
	s := newSession(t, nil)
	var q *http2.Stream
	s.onHead = func(of *http2.Stream) { q = of }
	s.post(1)
	for range 4 {
		_ = s.WriteData(1, false, zeros(16000))
	}
	_ = s.WriteData(1, false, zeros(1535))
	s.wantResets(t, "the upload")
	q.Respond(ok200, true)
	q.Reset(http2.CodeNo)
	s.wantResets(t, "with the response")
	if !s.conn.Exhausted() {
		t.Error("the reset is forgotten")
	}
	if s.conn.ResetExhausted(); s.conn.Exhausted() {
		t.Error("there is more to reset")
	}
	s.wantResets(t, "later", "RST_STREAM 1 NO_ERROR")

	s.post(3)
	q.Respond(ok200, true)
	q.Reset(http2.CodeNo)
	s.conn.ResetExhausted()
	s.conn.ResetExhausted()
	s.wantResets(t, "a window with room")
}
