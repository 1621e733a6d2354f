package proxy_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

func TestCutOffEndsExchangesWithItsBackends(t *testing.T) {
	t.Parallel()
	// Each responds to the first request of a connection only.
	mute := func(c *l7test.Recorder) {
		if _, err := c.Head(); err == nil {
			c.Say(ok)
			_, _ = c.Head()
			_, _ = c.Head()
		}
	}
	dead, alive := l7test.NewBackend(t, mute), l7test.NewBackend(t, mute)
	a := l7test.New(t, 2)
	one, two := l7test.Service("one", dead.Addr), l7test.Service("two", alive.Addr)
	one.URL, two.URL, two.ID, two.Backends[0].ID = "^/dead", "^/alive", 2, 2
	addr := a.Serve(nil, one, two)

	waits := func(path string, b *l7test.Backend) *l7test.Client {
		c := l7test.Dial(t, addr)
		c.Send(get(path)).Get()
		c.Send(get(path + "/hangs"))
		l7test.Eventually(t, "the request at the backend", func() bool { return strings.Contains(b.Received(), path+"/hangs") })
		return c
	}
	first, other := waits("/dead", dead), waits("/alive", alive)
	l7test.Dial(t, addr).Send(get("/dead")).Get() // leaves an idle connection
	if n := dead.Open(); n != 2 {
		t.Fatalf("%d connections to the backend are open", n)
	}
	if n := a.Engine.CutOff([]uint32{1}); n != 1 {
		t.Errorf("%d exchanges ended, want 1", n)
	}
	if rest := first.Rest(); rest != "" {
		t.Errorf("its client got %q", rest)
	}
	l7test.Eventually(t, "no connection to it is left", func() bool { return dead.Open() == 0 })
	if alive.Open() != 1 {
		t.Error("an exchange with another backend ended, too")
	}
	if n := a.Engine.CutOff([]uint32{1}); n != 0 {
		t.Errorf("%d exchanges ended, of none", n)
	}
	if n := a.Engine.CutOff(nil); n != 1 || other.Rest() != "" {
		t.Errorf("of all: %d exchanges ended, want 1", n)
	}
}
