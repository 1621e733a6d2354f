//go:build !race

// The test runs in one goroutine and takes 15 s with the race detector.

package http2_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http2"
)

// Heads that expand from 30 bytes to 60 KB are accepted a few times, but rate-limited.
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
	for i := range 10_000 { // 8 KiB of cookies is not a bomb
		s.headers(uint32(2*i+3), true, s.get("cookie", strings.Repeat("v", 3900), "x-a", strings.Repeat("v", 3900)))
		if _, err := s.flush(); err != nil {
			t.Fatal(err)
		}
	}
}
