//go:build !race

// It is of one goroutine, and with the race detector takes a quarter of a minute.

package http2_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// Heads of 60 KB for 30 bytes are served some times, but not at any rate.
func TestSmallBombsAreRationed(t *testing.T) {
	s := newSession(t, nil)
	s.onHead = func(q *http2.Stream) { q.Respond(ok200, true) }
	s.headers(1, true, s.get("x-bomb", strings.Repeat("v", 3900)))
	block := append(s.get(), bytes.Repeat([]byte{0xbe}, 14)...)
	n, frames, err := s.until(10_000, func(i int) { s.headers(uint32(2*i+3), true, block) })
	s.endedBy(frames, err, http2.ErrBomb)
	if n < 100 || n > 300 {
		t.Errorf("%d times", n)
	}
	s = newSession(t, nil)
	s.onHead = func(q *http2.Stream) { q.Respond(ok200, true) }
	s.headers(1, true, s.get("cookie", strings.Repeat("v", 3900), "x-a", strings.Repeat("v", 3900)))
	for i := range 10_000 { // 8 KiB of cookies are no bomb
		s.headers(uint32(2*i+3), true, s.get("cookie", strings.Repeat("v", 3900), "x-a", strings.Repeat("v", 3900)))
		if _, err := s.flush(); err != nil {
			t.Fatal(err)
		}
	}
}
