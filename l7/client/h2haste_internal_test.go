package client

import (
	"testing"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// A tick of the connection may follow a response at once. curl loses the response if a reset
// comes that early.
func TestNoTickComesBeforeTheTimeOfAReset(t *testing.T) {
	c := &h2Conn{h2: &http2.Conn{}, tickAt: 90, resetAt: 100}
	c.Conn = &loop.Conn{}
	for _, now := range []int64{90, 99} {
		if c.resetExhausted(now); c.resetAt != 100 {
			t.Errorf("at %d: next at %d, want 100", now, c.resetAt)
		}
	}
	if c.resetExhausted(100); c.resetAt != 0 {
		t.Errorf("next at %d, want 0", c.resetAt)
	}
	if c.resetExhausted(101); c.resetAt != 0 {
		t.Errorf("without an upload: next at %d, want 0", c.resetAt)
	}
}
