package http2_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/http2"
)

var ok200 = []byte("HTTP/1.1 200 OK\r\n\r\n")

// sizes returns the DATA bytes of each stream.
func sizes(frames []string) map[uint32]int {
	m := map[uint32]int{}
	for _, f := range frames {
		var id uint32
		var n int
		if _, err := fmt.Sscanf(f, "DATA %d %d", &id, &n); err == nil {
			m[id] += n
		}
	}
	return m
}

// bulk responds to every request with size bytes, as far as there is room.
func (s *session) bulk(size int) map[uint32]int {
	left := map[uint32]int{}
	s.onHead = func(q *http2.Stream) {
		left[q.ID()] = size
		q.Respond(ok200, false)
		s.onRoom(q)
	}
	s.onRoom = func(q *http2.Stream) {
		for left[q.ID()] > 0 {
			n := min(q.Room(), left[q.ID()])
			if n == 0 {
				return
			}
			if got := q.Data(zeros(min(n, 256<<10)), n == left[q.ID()]); got != n {
				s.t.Fatalf("room for %d, %d accepted", n, got)
			}
			left[q.ID()] -= n
		}
	}
	return left
}

func TestWindowsOfThePeerAreHonoured(t *testing.T) {
	s := newSession(t, nil)
	s.bulk(200_000)
	s.headers(1, true, s.get())
	frames, _ := s.flush()
	if got := sizes(frames)[1]; got != 65535 {
		t.Errorf("%d bytes in the first window", got)
	}
	_ = s.WriteWindowUpdate(1, 1000) // the connection window is still closed
	if frames, _ := s.flush(); len(sizes(frames)) != 0 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteWindowUpdate(0, 500)
	if frames, _ := s.flush(); sizes(frames)[1] != 500 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteWindowUpdate(0, 1<<20)
	if frames, _ := s.flush(); sizes(frames)[1] != 500 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 65535 + 300})
	if frames, _ := s.flush(); sizes(frames)[1] != 300 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 0}) // now the window is negative
	_ = s.WriteWindowUpdate(1, 65535+300)
	if frames, _ := s.flush(); len(sizes(frames)) != 0 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteWindowUpdate(1, 1)
	if frames, _ := s.flush(); sizes(frames)[1] != 1 {
		t.Errorf("%q", frames)
	}
	_ = s.WriteWindowUpdate(1, 1<<20)
	total := 0
	for range 10 {
		frames, _ = s.flush()
		total += sizes(frames)[1]
		s.conn.Resume()
	}
	if want := 200_000 - 65535 - 500 - 500 - 300 - 1; total != want || s.conn.Streams() != 0 {
		t.Errorf("got %d bytes, want %d", total, want)
	}
}

func TestOutputIsBounded(t *testing.T) {
	s := newSession(t, nil)
	s.bulk(10 << 20)
	_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 1 << 30})
	_ = s.WriteWindowUpdate(0, 1<<30)
	for id := uint32(1); id < 200; id += 2 {
		s.headers(id, true, s.get())
	}
	if err := s.conn.Receive(s.take()); err != nil {
		t.Fatal(err)
	}
	total := 0
	for total < 20<<20 {
		if n := len(s.conn.Output()); n > 128<<10+100*64 || n == 0 {
			t.Fatalf("%d bytes wait after %d", n, total)
		}
		for _, n := range sizes(s.out()) {
			total += n
		}
		s.conn.Resume()
	}
}

// Waiting streams get equal shares, and a later stream gets its turn before the others
// finish.
func TestStreamsTakeTurns(t *testing.T) {
	s := newSession(t, nil)
	s.bulk(4 << 20)
	_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 1 << 30})
	_ = s.WriteWindowUpdate(0, 1<<30)
	for id := uint32(1); id < 20; id += 2 {
		s.headers(id, true, s.get())
	}
	frames, _ := s.flush()
	got := sizes(frames)
	for range 99 {
		s.conn.Resume()
		for id, n := range sizes(s.out()) {
			got[id] += n
		}
	}
	low, high := 1<<30, 0
	for id := uint32(1); id < 20; id += 2 {
		low, high = min(low, got[id]), max(high, got[id])
	}
	if len(got) != 10 || high-low > 128<<10+32<<10 { // the first one was alone at first
		t.Errorf("%d streams, %d to %d bytes", len(got), low, high)
	}
	s.headers(99, true, s.get())
	if _, err := s.flush(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.conn.Resume()
		frames = append(frames, s.out()...)
	}
	if n := sizes(frames)[99]; n < 16384 {
		t.Errorf("the late stream got %d bytes", n)
	}
}

// A stream that waits for its own window does not delay others.
func TestStreamWithoutWindowDelaysNoOther(t *testing.T) {
	s := newSession(t, nil)
	s.bulk(30_000)
	_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: 10_000})
	s.headers(1, true, s.get()).headers(3, true, s.get())
	frames, _ := s.flush()
	_ = s.WriteWindowUpdate(3, 20_000)
	more, _ := s.flush()
	if got := sizes(append(frames, more...)); got[1] != 10_000 || got[3] != 30_000 {
		t.Errorf("%v", got)
	}
}

func TestBlockedReturnsTheStartTime(t *testing.T) {
	s := newSession(t, nil)
	s.bulk(100_000)
	s.now = 500
	s.headers(1, true, s.get())
	_, _ = s.flush()
	q := s.streams[1]
	if q.Blocked() != 500 || s.conn.Blocked() != 500 {
		t.Errorf("blocked since %d, %d", q.Blocked(), s.conn.Blocked())
	}
	s.now = 900
	_ = s.WriteWindowUpdate(0, 10)
	_, _ = s.flush()
	if s.conn.Blocked() != 500 {
		t.Errorf("blocked since %d although no output is pending", s.conn.Blocked())
	}
	_ = s.WriteWindowUpdate(1, 10)
	_, _ = s.flush()
	if s.conn.Blocked() != 900 {
		t.Errorf("blocked since %d", s.conn.Blocked())
	}
	_ = s.WriteWindowUpdate(0, 1<<20)
	_ = s.WriteWindowUpdate(1, 1<<20)
	_, _ = s.flush()
	if s.conn.Blocked() != 0 || s.conn.Streams() != 0 {
		t.Errorf("blocked since %d", s.conn.Blocked())
	}
}

// The window opens only for bytes that the owner has consumed, for any input of the peer.
func TestWindowsOpenOnlyForConsumedBytes(t *testing.T) {
	s := newSession(t, nil)
	s.post(1)
	for range 3 {
		_ = s.WriteData(1, false, zeros(16384))
	}
	frames, _ := s.flush()
	if strings.Contains(strings.Join(frames, "\n"), "WINDOW_UPDATE 1") {
		t.Errorf("%q", frames)
	}
	s.streams[1].Consumed(16384)
	if frames := s.out(); len(frames) != 0 {
		t.Errorf("an update for less than half a window: %q", frames)
	}
	s.streams[1].Consumed(16384)
	if frames := s.out(); !contains(frames, "WINDOW_UPDATE 1 32768") {
		t.Errorf("%q", frames)
	}
	s.streams[1].Consumed(1 << 30) // more than it received
	s.streams[1].Reset(http2.CodeCancel)
	if frames := s.out(); len(frames) != 1 {
		t.Errorf("%q", frames)
	}
}

// The window of an active stream grows up to its bound. So does that of the connection.
func TestWindowsGrowWithUse(t *testing.T) {
	s := newSession(t, nil)
	s.onData = func(q *http2.Stream, p []byte) { q.Consumed(len(p)) }
	s.post(1)
	stream, conn, first := 65535, 256<<10, true
	for sent := 0; sent < 8<<20; sent += 8192 {
		_ = s.WriteData(1, false, zeros(8192))
		frames, err := s.flush()
		if err != nil {
			t.Fatal(err)
		}
		stream, conn = stream-8192, conn-8192
		for _, f := range frames {
			var id uint32
			var n int
			if _, err := fmt.Sscanf(f, "WINDOW_UPDATE %d %d", &id, &n); err == nil && id == 1 {
				stream += n
			} else if err == nil && !first {
				conn += n
			}
			first = first && !strings.HasPrefix(f, "WINDOW_UPDATE 0")
		}
	}
	if stream > 256<<10 || stream < 128<<10 || conn > 1<<20 || conn < 512<<10 {
		t.Errorf("windows of %d and %d", stream, conn)
	}
}

// Data of streams that ended early is credited to the connection.
func TestConnectionWindowIsNotLostWithStreams(t *testing.T) {
	s := newSession(t, func(l *http2.Limits) { l.ConnWindow, l.MaxConnWindow = 65535, 65535 })
	s.onData = func(q *http2.Stream, _ []byte) { q.Reset(http2.CodeCancel) }
	for id := uint32(1); id < 400; id += 2 { // 200 times 20,000 bytes
		s.post(id)
		_ = s.WriteData(id, false, zeros(10_000))
		_ = s.WriteDataPadded(id, false, zeros(9_000), zeros(200))
		if _, err := s.flush(); err != nil {
			t.Fatalf("stream %d: %v", id, err)
		}
	}
}

// With random windows and reads, all bytes of all streams arrive in order and no window is
// exceeded.
func TestRandomWindowsDeliverEverything(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := newSession(t, func(l *http2.Limits) { l.Noise.Burst, l.Output = 1<<30, 8<<10+r.IntN(64<<10) })
		initial := r.IntN(70_000)
		size := 1 + r.IntN(300_000)
		left := s.bulk(size)
		_ = s.WriteSettings(xhttp2.Setting{ID: 4, Val: uint32(initial)})
		windows, got := map[uint32]int{}, map[uint32]int{}
		conn, done := 65535, 0
		for id := uint32(1); id <= 39; id += 2 {
			s.headers(id, true, s.get())
			windows[id] = initial
		}
		for turn := 0; done < 20; turn++ {
			if turn > 200_000 {
				t.Fatalf("seed %d: stuck, %v of %d", seed, got, size)
			}
			frames, err := s.flush()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				var id uint32
				var n int
				var end bool
				if _, err := fmt.Sscanf(f, "DATA %d %d %t", &id, &n, &end); err != nil {
					continue
				}
				conn -= n
				windows[id] -= n
				if got[id] += n; end {
					done++
				}
				if conn < 0 || windows[id] < 0 {
					t.Fatalf("seed %d: window exceeded: %d, %d", seed, conn, windows[id])
				}
			}
			id := uint32(1 + 2*r.IntN(20))
			if n := 1 + r.IntN(30_000); got[id] < size {
				windows[id] += n
				_ = s.WriteWindowUpdate(id, uint32(n))
			}
			if n := 1 + r.IntN(40_000); conn < 1<<20 {
				conn += n
				_ = s.WriteWindowUpdate(0, uint32(n))
			}
			if r.IntN(3) == 0 {
				s.conn.Resume()
			}
		}
		for id, n := range left {
			if n != 0 || got[id] != size {
				t.Errorf("seed %d: stream %d got %d of %d", seed, id, got[id], size)
			}
		}
	}
}
