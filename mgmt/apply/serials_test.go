package apply_test

import (
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
)

// A serial starts with the time and never decreases, even if its zone is deleted or moved.
func TestSerialsNeverDecrease(t *testing.T) {
	const begin = 1_800_000_000
	now := time.Unix(begin, 0)
	h := newHouse(t, apply.WithSecrets(newSalted("here")), apply.WithClock(func() time.Time { return now }))
	plain := names()
	plain.Global.Zones[0].Signing = ""
	h.must(add(plain))
	want := func(what string, serial uint32) {
		t.Helper()
		cfg, _ := h.Current()
		if got := zone(cfg).Serial; got != serial {
			t.Errorf("%s: serial %d, want %d", what, got, serial)
		}
	}
	want("a new zone", begin)
	ttl := func(ttl farm.Seconds) func(*farm.Config) error {
		return func(c *farm.Config) error { zone(c).TTL = ttl; return nil }
	}
	h.must(ttl(60))
	want("changed", begin+1)
	before := h.moment()
	h.must(func(c *farm.Config) error { zone(c).Serial = 2026112709; return nil })
	want("set", 2026112709)
	h.must(ttl(61))
	want("changed again", 2026112710)
	deleteAll := func(c *farm.Config) error { c.Farms = nil; return nil }
	h.must(deleteAll)
	h.must(add(plain))
	want("deleted and created", 2026112711)
	h.must(func(c *farm.Config) error { zone(c).Serial = 5; return nil })
	want("set to an older one", 2026112711)
	h.must(func(c *farm.Config) error {
		f := c.Farms[0]
		f.ID, f.Name, f.VPort = 0, "others", 5400
		f.Global.Zones[0].Serial = 0
		c.Farms = []farm.Farm{f}
		return nil
	})
	want("in another farm", 2026112712)
	old, err := document.Decode([]byte(before.stored))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Replace(t.Context(), root, "test", 0, old); err != nil {
		t.Fatal(err)
	}
	want("an older document", 2026112713)
	text := h.moment().stored
	h.must(deleteAll)
	other := newHouse(t, apply.WithSecrets(newSalted("here")), apply.WithClock(func() time.Time { return now }))
	same, err := document.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Replace(t.Context(), root, "test", 0, same); err != nil {
		t.Fatal(err)
	}
	cfg, _ := other.Current()
	if got := zone(cfg).Serial; got != 2026112713 {
		t.Errorf("on another node: serial %d", got)
	}
	now = now.AddDate(10, 0, 0)
	h.must(add(plain))
	want("years later", uint32(now.Unix()))
}
