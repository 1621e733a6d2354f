package http2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// answered is a session whose requests are answered before their bodies come.
func answered(t *testing.T, ids ...uint32) *session {
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

// wantResets says which streams were told to stop, all of them without a fault.
func (s *session) wantResets(t *testing.T, what string, want ...string) {
	t.Helper()
	frames, err := s.flush()
	frames = slices.DeleteFunc(frames, func(f string) bool { return !isReset(f) })
	if err != nil || !slices.Equal(frames, want) {
		t.Errorf("%s: %q, %v, want %q", what, frames, err, want)
	}
}

func TestAnAnsweredRequestMayEnd(t *testing.T) {
	s := answered(t, 1)
	_ = s.WriteData(1, false, zeros(1000))
	_ = s.WriteDataPadded(1, true, zeros(1000), zeros(100))
	s.wantResets(t, "to its end")
	s.conn.Tick()
	s.conn.Tick()
	s.wantResets(t, "later")

	s = answered(t, 1)
	_ = s.WriteData(1, false, zeros(1000))
	s.headers(1, true, s.fields("x-a", "b"))
	s.wantResets(t, "with trailers")

	s = answered(t, 1)
	_ = s.WriteRSTStream(1, 0)
	s.wantResets(t, "reset by the client")
	s.conn.Tick()
	s.conn.Tick()
	s.wantResets(t, "reset by the client")
}

func TestAnAnsweredRequestThatGoesOnIsStopped(t *testing.T) {
	s := answered(t, 1)
	for range 4 {
		_ = s.WriteData(1, false, zeros(16000))
	}
	s.wantResets(t, "within its window")
	_ = s.WriteData(1, false, zeros(1535))
	s.wantResets(t, "to the end of its window", "RST_STREAM 1 NO_ERROR")
	_ = s.WriteData(1, true, zeros(1000)) // was on its way
	s.wantResets(t, "after it was told")

	s = answered(t, 1, 3)
	s.conn.Tick()
	s.wantResets(t, "at first")
	s.conn.Tick()
	s.wantResets(t, "after a while", "RST_STREAM 1 NO_ERROR", "RST_STREAM 3 NO_ERROR")

	s = answered(t, 1, 3, 5, 7)
	s.post(9)
	s.post(11)
	s.wantResets(t, "too many at once", "RST_STREAM 1 NO_ERROR", "RST_STREAM 3 NO_ERROR")
}

// What is dropped counts as consumed, and floods of it as floods.
func TestTheRestOfAnAnsweredRequestIsBounded(t *testing.T) {
	s := answered(t)
	for id := uint32(1); id < 200; id += 2 { // 6 MB through a window of 256 KiB
		s.post(id)
		for range 4 {
			_ = s.WriteData(id, false, zeros(16000))
		}
		_ = s.WriteData(id, true, nil)
		s.wantResets(t, "body")
	}
	s = answered(t, 1)
	for range 10_000 {
		_ = s.WriteData(1, false, nil)
	}
	if _, err := s.flush(); err != http2.ErrClosedFlood {
		t.Errorf("a flood ends with %v", err)
	}
}
