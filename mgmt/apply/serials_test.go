package apply_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
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
		t.Errorf("on another node: serial %d, want 2026112713", got)
	}
	now = now.AddDate(10, 0, 0)
	h.must(add(plain))
	want("years later", uint32(now.Unix()))
}

// deleted returns the stored serials of deleted zones.
func (h *house) deleted() string {
	text, _ := h.store.Setting("zones.serials")
	return text
}

// A crash right after the revision must not lose the serials.
func TestTheSerialOfADeletedZoneIsStoredWithTheRevision(t *testing.T) {
	var h *house
	check := func() {
		if h == nil {
			return
		}
		if _, rev := h.store.Current(); rev.Number == 2 && !strings.Contains(h.deleted(), "2026112709") {
			t.Errorf("the deletion is stored without the serial: %s", h.deleted())
		}
	}
	clock := func() time.Time { check(); return time.Unix(1_800_000_000, 0) }
	told := func(_, _ *farm.Config, _ store.Revision) { check() }
	h = newHouse(t, apply.WithSecrets(newSalted("here")), apply.WithClock(clock), apply.WithTold(told))
	plain := names()
	plain.Global.Zones[0].Signing = ""
	plain.Global.Zones[0].Serial = 2026112709
	h.must(add(plain))
	h.must(func(c *farm.Config) error { c.Farms = nil; return nil })
	h.must(func(c *farm.Config) error {
		f := plain
		f.Global.Zones[0].Serial = 5
		return add(f)(c)
	})
	cfg, _ := h.Current()
	if got := zone(cfg).Serial; got != 2026112710 {
		t.Errorf("created again with serial %d, want 2026112710", got)
	}
}

// A restoration replaces the settings. The serials of zones that were deleted here remain, and the
// backup adds its own.
func TestARestorationKeepsTheSerialsOfDeletedZones(t *testing.T) {
	clock := func() time.Time { return time.Unix(1_800_000_000, 0) }
	h := newHouse(t, apply.WithSecrets(newSalted("here")), apply.WithClock(clock))
	plain := names()
	plain.Global.Zones[0].Signing = ""
	plain.Global.Zones[0].Serial = 2026112709
	name := plain.Global.Zones[0].Name
	fill := func() { h.must(add(plain)) }
	empty := func() { h.must(func(c *farm.Config) error { c.Farms = nil; return nil }) }
	restore := func(stored string) {
		t.Helper()
		r := h.restoring()
		r.contents.Settings = []store.StoredSetting{{Name: "zones.serials", Value: stored}}
		if _, err := h.Restore(t.Context(), root, "restored", r.Restoration); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, serial uint32) {
		t.Helper()
		fill()
		cfg, _ := h.Current()
		if got := zone(cfg).Serial; got != serial {
			t.Errorf("%s: serial %d, want %d", what, got, serial)
		}
	}
	fill()
	empty()
	restore(`{}`)
	want("deleted before the restoration", 2026112710)
	restore(`{"` + name + `":2026112000}`)
	want("deleted by the restoration", 2026112711)
	empty()
	restore(`{"` + name + `":2026113000,"old.test":5}`)
	if strings.Contains(h.deleted(), "old.test") {
		t.Errorf("an old serial is kept: %s", h.deleted())
	}
	want("a newer one in the backup", 2026113001)
	empty()
	restore(`broken`)
	want("an unreadable one in the backup", 2026113002)
}

// The zone of a change that is taken back was visible to secondaries.
func TestRevertKeepsTheZoneSerial(t *testing.T) {
	clock := func() time.Time { return time.Unix(1_800_000_000, 0) }
	h := newHouse(t, apply.WithSecrets(newSalted("here")), apply.WithClock(clock))
	plain := names()
	plain.Global.Zones[0].Signing = ""
	plain.Global.Zones[0].Serial = 2026112709
	r, err := h.Change(wait(time.Hour), root, "trial", 0, add(plain))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.TakeBack(t.Context(), root, r.Pending.Revision); err != nil {
		t.Fatal(err)
	}
	plain.Global = &farm.GSLB{Zones: []farm.Zone{farm.NewZone(plain.Global.Zones[0].Name)}}
	h.must(add(plain))
	cfg, _ := h.Current()
	if got := zone(cfg).Serial; got != 2026112710 {
		t.Errorf("created again with serial %d, want 2026112710", got)
	}
}
