package client

import (
	"testing"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/l7/http2"
)

// A tick of the connection may follow a response at once. curl loses the response if a reset
// comes that early.
func TestNoTickHastensAReset(t *testing.T) {
	c := &h2Conn{h2: &http2.Conn{}, tickAt: 90, hasteAt: 100}
	c.Conn = &loop.Conn{}
	for _, now := range []int64{90, 99} {
		if c.hasten(now); c.hasteAt != 100 {
			t.Errorf("at %d: next at %d", now, c.hasteAt)
		}
	}
	if c.hasten(100); c.hasteAt != 0 {
		t.Errorf("next at %d", c.hasteAt)
	}
	if c.hasten(101); c.hasteAt != 0 {
		t.Errorf("without an upload: next at %d", c.hasteAt)
	}
}
