package http2_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// recorder is a Handler that records its events, one line each.
type recorder struct {
	events  []string
	streams map[uint32]*http2.Stream
	onHead  func(s *http2.Stream)
	onData  func(s *http2.Stream, p []byte)
	onRoom  func(s *http2.Stream)
}

func (r *recorder) note(format string, args ...any) {
	r.events = append(r.events, fmt.Sprintf(format, args...))
}

func (r *recorder) Head(s *http2.Stream, head []byte, end bool) {
	if r.streams == nil {
		r.streams = map[uint32]*http2.Stream{}
	}
	r.streams[s.ID()] = s
	r.note("head %d %v %s", s.ID(), end, head)
	if r.onHead != nil {
		r.onHead(s)
	}
}

func (r *recorder) Data(s *http2.Stream, p []byte, end bool) {
	r.note("data %d %v %s", s.ID(), end, p)
	if r.onData != nil {
		r.onData(s, p)
	}
}

func (r *recorder) Trailers(s *http2.Stream, lines []byte) { r.note("trailers %d %s", s.ID(), lines) }

func (r *recorder) Reset(s *http2.Stream, code http2.Code, why *http2.Error) {
	again := ""
	if s.Unprocessed() {
		again = " again"
	}
	r.note("reset %d %v%s", s.ID(), code, again)
	delete(r.streams, s.ID())
}

func (r *recorder) Writable(s *http2.Stream) {
	r.note("writable %d", s.ID())
	if r.onRoom != nil {
		r.onRoom(s)
	}
}

func (r *recorder) GoingAway(code http2.Code) { r.note("going away %v", code) }
func (r *recorder) Outgoing()                 {}

// count returns the number of events with a prefix.
func (r *recorder) count(prefix string) (n int) {
	for _, e := range r.events {
		if strings.HasPrefix(e, prefix) {
			n++
		}
	}
	return n
}

// session is one connection under test with a scripted peer.
type session struct {
	*script
	*recorder
	t    testing.TB
	sh   *http2.Shared
	conn *http2.Conn
	now  int64
}

func newSession(t testing.TB, change func(*http2.Limits)) *session {
	s := &session{script: newScript(), recorder: &recorder{}, t: t, now: 1}
	limits := http2.ServerLimits()
	if change != nil {
		change(&limits)
	}
	s.sh = http2.NewShared(limits, new(loop.BufferPool), func() int64 { return s.now })
	s.conn = http2.NewServer(s.sh, s.recorder)
	s.greet()
	s.AllowIllegalReads = true
	return s
}

// toClient turns the session into one with a scripted backend.
func (s *session) toClient() *session {
	s.sh = http2.NewShared(http2.ClientLimits(), new(loop.BufferPool), func() int64 { return s.now })
	s.conn = http2.NewClient(s.sh, s.recorder, false)
	s.script = newScript()
	_ = s.WriteSettings()
	s.flush()
	return s
}

// flush sends the written bytes and returns the output, one line per frame.
func (s *session) flush() (frames []string, err error) {
	err = s.conn.Receive(s.take())
	out := s.out()
	if _, ok := err.(*http2.Error); err != nil && !ok {
		s.t.Fatalf("error of another type: %T", err)
	}
	return out, err
}

// out returns the pending output.
func (s *session) out() (frames []string) {
	s.t.Helper()
	out := bytes.TrimPrefix(bytes.Clone(s.conn.Output()), []byte(xhttp2.ClientPreface))
	s.conn.Written()
	r := xhttp2.NewFramer(nil, bytes.NewReader(out))
	for {
		f, err := r.ReadFrame()
		if err != nil {
			if len(out) > 0 && !errors.Is(err, errEOF) {
				s.t.Fatalf("%v in %x", err, out)
			}
			return frames
		}
		frames = append(frames, text(f))
	}
}

func text(f xhttp2.Frame) string {
	switch f := f.(type) {
	case *xhttp2.RSTStreamFrame:
		return fmt.Sprintf("RST_STREAM %d %v", f.StreamID, f.ErrCode)
	case *xhttp2.GoAwayFrame:
		return fmt.Sprintf("GOAWAY %d %v", f.LastStreamID, f.ErrCode)
	case *xhttp2.WindowUpdateFrame:
		return fmt.Sprintf("WINDOW_UPDATE %d %d", f.StreamID, f.Increment)
	case *xhttp2.ContinuationFrame:
		return fmt.Sprintf("CONTINUATION %d %d", f.StreamID, f.Flags)
	case *xhttp2.DataFrame:
		return fmt.Sprintf("DATA %d %d %v", f.StreamID, len(f.Data()), f.StreamEnded())
	case *xhttp2.HeadersFrame:
		return fmt.Sprintf("HEADERS %d %v", f.StreamID, f.StreamEnded())
	case *xhttp2.SettingsFrame:
		return fmt.Sprintf("SETTINGS %v", f.IsAck())
	case *xhttp2.PingFrame:
		return fmt.Sprintf("PING %v %s", f.IsAck(), f.Data[:])
	}
	return fmt.Sprint(f.Header().Type)
}

// get returns the block of a simple request with additional fields.
func (s *session) get(more ...string) []byte {
	return s.fields(append([]string{":method", "GET", ":scheme", "http", ":authority", "a.test", ":path", "/"}, more...)...)
}

// post opens a stream whose body follows.
func (s *session) post(id uint32, more ...string) *script {
	return s.headers(id, false, s.fields(append([]string{":method", "POST", ":scheme", "http", ":authority", "a.test", ":path", "/"}, more...)...))
}

// ends checks that the connection ends with error why, that GOAWAY has its code, and that it
// is counted.
func (s *session) ends(why *http2.Error) {
	s.t.Helper()
	frames, err := s.flush()
	s.endedBy(frames, err, why)
}

func (s *session) endedBy(frames []string, err error, why *http2.Error) {
	s.t.Helper()
	if err != why {
		s.t.Fatalf("got %v, want %v; %q", err, why, frames)
	}
	if len(frames) == 0 || !strings.HasPrefix(frames[len(frames)-1], "GOAWAY") || !strings.HasSuffix(frames[len(frames)-1], why.Code.String()) {
		s.t.Errorf("no GOAWAY with %v: %q", why.Code, frames)
	}
	if s.sh.Count(why) == 0 {
		s.t.Error("not counted")
	}
	if s.conn.Streams() != 0 || s.conn.Err() != why {
		s.t.Errorf("%d streams left, error %v", s.conn.Streams(), s.conn.Err())
	}
	if err := s.conn.Receive([]byte("more")); err != why {
		s.t.Errorf("then %v", err)
	}
}

// resets checks that a stream ends with error why and the connection continues.
func (s *session) resets(id uint32, why *http2.Error) {
	s.t.Helper()
	frames, err := s.flush()
	if err != nil {
		s.t.Fatal(err)
	}
	if want := fmt.Sprintf("RST_STREAM %d %v", id, why.Code); !contains(frames, want) {
		s.t.Errorf("no %s: %q, events %q", want, frames, s.events)
	}
	if s.sh.Count(why) == 0 {
		s.t.Errorf("not counted as %v", why)
	}
}

func contains(frames []string, f string) bool {
	for _, g := range frames {
		if g == f {
			return true
		}
	}
	return false
}
