package http2_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/http2"
)

// Bad-input rows 11 and 12: without its limit, each of these attacks would continue.

// until repeats send until the connection ends, at most limit times, and returns the number
// of repetitions.
func (s *session) until(limit int, send func(i int)) (n int, frames []string, err error) {
	s.t.Helper()
	for n < limit && err == nil {
		send(n)
		n++
		frames, err = s.flush()
	}
	if err == nil {
		s.t.Fatalf("still served after %d times", n)
	}
	return n, frames, err
}

// floods are attacks by repeated frames, with the error that ends them and the least and
// most frames before it.
var floods = map[string]struct {
	why      *http2.Error
	least    int
	most     int
	prepare  func(s *session)
	send     func(s *session, i int)
	answered bool // requests get their response at once
}{
	"rapid reset": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
		_ = s.WriteRSTStream(uint32(2*i+1), xhttp2.ErrCodeCancel)
	}},
	"made you reset by malformed requests": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get("connection", "x"))
	}},
	"made you reset by window overflow": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
		_ = s.WriteWindowUpdate(uint32(2*i+1), 1<<31-1)
	}},
	"made you reset by an update of zero": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
		_ = s.WriteWindowUpdate(uint32(2*i+1), 0)
	}},
	"made you reset by data after the end": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
		_ = s.WriteData(uint32(2*i+1), true, nil)
	}},
	"made you reset by a priority of a wrong length": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
		_ = s.WriteRawFrame(2, 0, uint32(2*i+1), zeros(4))
	}},
	"made you reset by half of a body": {why: http2.ErrRapidReset, least: 100, most: 140, send: func(s *session, i int) {
		s.post(uint32(2*i+1), "content-length", "9")
		_ = s.WriteData(uint32(2*i+1), true, nil)
	}},
	"streams beyond the limit": {why: http2.ErrRapidReset, least: 128 + 100, most: 128 + 140, send: func(s *session, i int) {
		s.headers(uint32(2*i+1), true, s.get())
	}},
	"settings": {why: http2.ErrSettingsFlood, least: 300, most: 700, send: func(s *session, i int) {
		_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: uint32(i)})
	}},
	"acknowledged settings": {why: http2.ErrSettingsFlood, least: 1000, most: 2100, send: func(s *session, i int) {
		_ = s.WriteSettingsAck()
	}},
	"ping":          {why: http2.ErrPingFlood, least: 500, most: 1100, send: func(s *session, i int) { _ = s.WritePing(false, [8]byte{}) }},
	"answered ping": {why: http2.ErrPingFlood, least: 1000, most: 2100, send: func(s *session, i int) { _ = s.WritePing(true, [8]byte{}) }},
	"empty data": {why: http2.ErrEmptyFlood, least: 500, most: 1100, prepare: func(s *session) { s.post(1) }, send: func(s *session, i int) {
		_ = s.WriteData(1, false, nil)
	}},
	"data that is padding": {why: http2.ErrEmptyFlood, least: 500, most: 1100, prepare: func(s *session) { s.post(1) }, send: func(s *session, i int) {
		_ = s.WriteDataPadded(1, false, nil, zeros(200))
	}},
	"priority": {why: http2.ErrPriorityFlood, least: 1000, most: 2100, send: func(s *session, i int) {
		_ = s.WritePriority(uint32(2*i+1), xhttp2.PriorityParam{StreamDep: 0, Weight: 1})
	}},
	"updates of the connection's window": {why: http2.ErrUpdateFlood, least: 1000, most: 2100, send: func(s *session, i int) { _ = s.WriteWindowUpdate(0, 1) }},
	"updates of a stream's window": {why: http2.ErrUpdateFlood, least: 1000, most: 2200, prepare: func(s *session) { s.post(1) }, send: func(s *session, i int) {
		_ = s.WriteWindowUpdate(1, 1)
	}},
	"updates of a closed stream": {why: http2.ErrUpdateFlood, least: 1000, most: 2200, prepare: func(s *session) { s.post(1); _ = s.WriteRSTStream(1, 8) },
		send: func(s *session, i int) { _ = s.WriteWindowUpdate(1, 1) }},
	"resets of a closed stream": {why: http2.ErrClosedFlood, least: 1000, most: 2200, prepare: func(s *session) { s.post(1) },
		send: func(s *session, i int) { _ = s.WriteRSTStream(1, 8) }},
	"data on a closed stream": {why: http2.ErrClosedFlood, least: 1000, most: 2200, prepare: func(s *session) { s.post(1); _ = s.WriteRSTStream(1, 8) },
		send: func(s *session, i int) { _ = s.WriteData(1, false, zeros(1)) }},
	"unknown frames": {why: http2.ErrUnknownFlood, least: 1000, most: 2100, send: func(s *session, i int) { _ = s.WriteRawFrame(0xfe, 0, 0, nil) }},
	"goaway":         {why: http2.ErrSettingsFlood, least: 300, most: 700, send: func(s *session, i int) { _ = s.WriteGoAway(0, 0, nil) }},
	"continuations": {why: http2.ErrContinuationFlood, least: 10, most: 40, prepare: func(s *session) { _ = s.WriteRawFrame(1, 0, 1, s.get()) },
		send: func(s *session, i int) { _ = s.WriteContinuation(1, false, s.fields("x-a", "b")) }},
	"empty continuations": {why: http2.ErrContinuationFlood, least: 10, most: 40, prepare: func(s *session) { _ = s.WriteRawFrame(1, 0, 1, s.get()) },
		send: func(s *session, i int) { _ = s.WriteContinuation(1, false, nil) }},
	"long continuations": {why: http2.ErrBlock, least: 3, most: 8, prepare: func(s *session) { _ = s.WriteRawFrame(1, 0, 1, s.get()) },
		send: func(s *session, i int) { _ = s.WriteContinuation(1, false, zeros(16384)) }},
	// A window of one byte costs us a frame and earns the client nothing.
	"windows of one byte": {why: http2.ErrUpdateFlood, least: 500, most: 3000, prepare: func(s *session) {
		_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 0})
		s.onHead = func(q *http2.Stream) {
			q.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), false)
			q.Data(zeros(100), false)
		}
		s.onRoom = func(q *http2.Stream) { q.Data(zeros(100), false) }
		s.headers(1, true, s.get())
	}, send: func(s *session, i int) { _ = s.WriteWindowUpdate(1, 1) }},
}

func TestFloodsEndTheConnection(t *testing.T) {
	for name, f := range floods {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, nil)
			if f.prepare != nil {
				f.prepare(s)
			}
			n, frames, err := s.until(10_000, func(i int) { f.send(s, i) })
			s.endedBy(frames, err, f.why)
			if n < f.least || n > f.most {
				t.Errorf("ended after %d times, expected %d to %d", n, f.least, f.most)
			}
		})
	}
}

// The same frames are accepted beside useful work, or at a low rate.
func TestUsefulWorkPaysForFrames(t *testing.T) {
	s := newSession(t, nil)
	s.onHead = func(q *http2.Stream) {
		q.Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), false)
		q.Data(zeros(1000), true)
	}
	id := uint32(1)
	for range 5000 {
		s.headers(id, true, s.get())
		_ = s.WriteWindowUpdate(0, 1000)
		_ = s.WriteWindowUpdate(id, 1000) // the stream is closed already
		_ = s.WritePriority(id, xhttp2.PriorityParam{Weight: 5})
		_ = s.WritePing(false, [8]byte{})
		id += 2
		if _, err := s.flush(); err != nil {
			t.Fatal(err)
		}
	}
	for range 5000 { // one in three is cancelled
		for range 2 {
			s.headers(id, true, s.get())
			_ = s.WriteWindowUpdate(0, 1000)
			id += 2
		}
		s.post(id)
		s.onHead = nil
		_ = s.WriteRSTStream(id, 8)
		s.onHead = func(q *http2.Stream) {
			if q.Ended() {
				q.Respond([]byte("HTTP/1.1 204 No Content\r\n\r\n"), true)
			}
		}
		id += 2
		if _, err := s.flush(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTimePaysForFrames(t *testing.T) {
	s := newSession(t, nil)
	for i := range 20_000 {
		_ = s.WritePing(false, [8]byte{})
		if i%10 == 0 {
			s.headers(uint32(i/5+1), true, s.get())
			_ = s.WriteRSTStream(uint32(i/5+1), 8)
		}
		s.now += 11_000_000 // 90 a second
		if _, err := s.flush(); err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
	}
}

// A client requests responses and does not read them.
func TestUnreadResponsesAreBounded(t *testing.T) {
	s := newSession(t, func(l *http2.Limits) { l.Noise.Burst, l.Control = 1<<30, 4096 })
	var err error
	n := 0
	for ; err == nil && n < 10_000; n++ {
		_ = s.WritePing(false, [8]byte{})
		err = s.conn.Receive(s.take())
	}
	if err != http2.ErrNotReading || n > 300 || len(s.conn.Output()) > 8192 || s.sh.Count(http2.ErrNotReading) != 1 {
		t.Errorf("%v after %d, %d bytes wait", err, n, len(s.conn.Output()))
	}
}

// Each byte of the block expands to a field of 4,000 bytes: 62 MB in 16 KiB.
func TestCompressionBombEndsTheConnection(t *testing.T) {
	s := newSession(t, nil)
	s.headers(1, true, s.get("x-bomb", strings.Repeat("v", 3900)))
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	s.headers(3, true, append(s.get(), bytes.Repeat([]byte{0xbe}, 16000)...))
	s.ends(http2.ErrHeadTooLong) // bombs below the limit: bombs_test.go
}

// An oversized field list ends the connection before the rest is decoded.
func TestLongListEndsTheConnection(t *testing.T) {
	s := newSession(t, nil)
	big := strings.Repeat("v", 3900)
	s.headers(1, true, append(append(s.get("x-long", big), bytes.Repeat([]byte{0xbe}, 20)...), 0xff, 0xff, 0xff, 0xff, 0xff)) // the end cannot be decompressed
	s.ends(http2.ErrHeadTooLong)
}

// The overhead of 32 bytes per field counts, so many empty fields exceed the limit.
func TestManyFieldsAreTooLong(t *testing.T) {
	s := newSession(t, nil)
	var fields []string
	for i := range 2000 {
		fields = append(fields, fmt.Sprintf("x%d", i), "")
	}
	block := s.get(fields...)
	_ = s.WriteRawFrame(1, 1, 1, block[:9000])
	_ = s.WriteContinuation(1, true, block[9000:])
	s.ends(http2.ErrHeadTooLong)
}

// A frame with 2,730 window changes costs no more than one change, even with 100 streams.
func TestSettingsAreAppliedOnce(t *testing.T) {
	s := newSession(t, nil)
	for id := uint32(1); id < 200; id += 2 {
		s.headers(id, true, s.get())
	}
	var settings []xhttp2.Setting
	for i := range 2730 {
		settings = append(settings, xhttp2.Setting{ID: 4, Val: uint32(i)})
	}
	_ = s.WriteSettings(settings...)
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	s.streams[1].Respond([]byte("HTTP/1.1 200 OK\r\n\r\n"), false)
	if n := s.streams[1].Room(); n != 2729 {
		t.Errorf("room for %d, want 2729", n)
	}
}

// Data frames of one byte are merged before they are written.
func TestSmallFramesOfOneReadComeTogether(t *testing.T) {
	s := newSession(t, nil)
	s.post(1)
	for i := range 3000 {
		_ = s.WriteData(1, i == 2999, []byte{'a' + byte(i%26)})
	}
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	if n := s.count("data 1"); n != 1 || len(s.events[1]) != len("data 1 true ")+3000 || !strings.HasSuffix(s.events[1], "wxyzabcdefghij") {
		t.Errorf("%d events, %.100q", n, s.events[1])
	}
}
