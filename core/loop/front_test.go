package loop_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

func TestFrontPrecedesTheReadBytes(t *testing.T) {
	l := start(t)
	for _, c := range []struct {
		name       string
		at, length int
		ok         bool
	}{
		{"in the headroom", 0, loop.Headroom, true},
		{"more than the headroom", 0, loop.Headroom + 1, false},
		{"over a head that was read", 100, loop.Headroom + 100, true},
	} {
		p := l.In[c.at : c.at+5]
		copy(p, "body.")
		all, ok := l.Front(p, c.length)
		if ok != c.ok {
			t.Fatalf("%s: got %t, want %t", c.name, ok, c.ok)
		}
		if ok && (len(all) != c.length+5 || &all[c.length] != &p[0] || cap(all) != c.length+cap(p)) {
			t.Errorf("%s: %d bytes, which do not end with the data read", c.name, len(all))
		}
	}
	for name, p := range map[string][]byte{"nothing": nil, "elsewhere": make([]byte, 10), "a part with an end of its own": l.In[0:5:5]} {
		if _, ok := l.Front(p, 1); ok {
			t.Errorf("%s has space before it", name)
		}
	}
}
