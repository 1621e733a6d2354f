package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/resolve"
)

const day = 24 * time.Hour

// registry answers for the parent zone of the zone of signedHouse.
type registry struct {
	ds    []string
	fails error
	asked int
	wait  func() // before each answer; may be nil
}

func (r *registry) ask(_ context.Context, zone string) (resolve.Delegation, error) {
	r.asked++
	if r.wait != nil {
		r.wait()
	}
	return resolve.Delegation{Parent: "com.", DS: r.ds, TTL: 2 * day}, r.fails
}

// dsOf returns the DS record of a key of example.com.
func dsOf(k farm.ZoneKey) string { return rdata.KeyOf("example.com", k.Algorithm, k.Public).DS }

// trustHouse returns a signedHouse whose parent zone has the DS record of its key, and a clock.
func trustHouse(t *testing.T) (h *house, parent *registry, now *time.Time) {
	t.Helper()
	parent, now = &registry{}, new(time.Unix(1_800_000_000, 0))
	h = signedHouse(t, apply.WithDelegation(parent.ask), apply.WithClock(func() time.Time { return *now }))
	parent.ds = []string{dsOf(h.keys()[0])}
	return h, parent, now
}

func (h *house) tries(ctx context.Context, edit func(*farm.Config)) (apply.Result, error) {
	return h.Change(apply.DryRun(ctx), root, "test", 0, func(c *farm.Config) error { edit(c); return nil })
}

// wantTrust fails unless an edit is refused with refusal ("": permitted), and permitted if
// forced.
func (h *house) wantTrust(what, refusal string, edit func(*farm.Config)) {
	h.t.Helper()
	_, err := h.tries(h.t.Context(), edit)
	switch {
	case refusal == "" && !errors.Is(err, apply.ErrDryRun):
		h.t.Errorf("%s: %v", what, err)
	case refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal) || !strings.Contains(err.Error(), "--force")):
		h.t.Errorf("%s: %v, want %q", what, err, refusal)
	}
	if _, err := h.tries(apply.Force(h.t.Context()), edit); !errors.Is(err, apply.ErrDryRun) {
		h.t.Errorf("%s, forced: %v", what, err)
	}
}

func unsign(c *farm.Config)     { zone(c).Signing = "" }
func deleteZone(c *farm.Config) { c.Farms[0].Global.Zones = nil }
func deleteFarm(c *farm.Config) { c.Farms = nil }

// newKey replaces the keys of the zone with a new active one.
func newKey(c *farm.Config) {
	k, _ := apply.NewZoneKey(farm.SignEd25519, farm.KeyActive, time.Unix(1_800_000_000, 0))
	zone(c).Keys = []farm.ZoneKey{k}
}

func TestZoneWithADSRecordStaysSigned(t *testing.T) {
	h, parent, _ := trustHouse(t)
	for what, edit := range map[string]func(*farm.Config){"unsigned": unsign, "zone deleted": deleteZone, "farm deleted": deleteFarm} {
		h.wantTrust(what, "the parent zone com has a DS record for it ("+parent.ds[0]+")", edit)
	}
	h.wantTrust("another key", "resolvers hold what the key", newKey)
	h.wantTrust("renamed zone", "cannot be deleted now", func(c *farm.Config) { zone(c).Name = "example.net" })
	asked := parent.asked
	h.wantTrust("another record", "", func(c *farm.Config) {
		zone(c).Records = append(slices.Clone(zone(c).Records), farm.Record{Name: "www", Type: "A", Data: "192.0.2.1"})
	})
	h.wantTrust("renamed farm", "", func(c *farm.Config) { c.Farms[0].Name = "names2" })
	h.wantTrust("moved to another farm", "", func(c *farm.Config) {
		f := c.Farms[0]
		f.ID, f.Name, f.VPort = 0, "others", 5400
		c.Farms = []farm.Farm{f}
	})
	if parent.asked != asked {
		t.Error("the parent zone is queried for unrelated changes")
	}
	parent.ds = nil
	for what, edit := range map[string]func(*farm.Config){"unsigned": unsign, "zone deleted": deleteZone, "farm deleted": deleteFarm} {
		h.wantTrust(what+" without a DS record", "", edit)
	}
	parent.fails = errors.New("no server answers")
	if r, err := h.tries(t.Context(), unsign); !errors.Is(err, apply.ErrDryRun) || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1].Message, "could not be asked for DS records: no server answers") {
		t.Errorf("without an answer: %v, %v", r.Warnings, err)
	}
}

// The next key signs only once the parent zone has its DS record. The previous one stays as
// long as its signatures may be cached, with the TTL of that time.
func TestKeyRollWaitsForTheLongestCachedTTL(t *testing.T) {
	h, parent, now := trustHouse(t)
	h.must(func(c *farm.Config) error { zone(c).TTL = 7 * 86400; return nil })
	h.must(func(c *farm.Config) error {
		k, err := apply.NewZoneKey(farm.SignEd25519, farm.KeyPublished, *now)
		zone(c).Keys = append(slices.Clone(zone(c).Keys), k)
		return err
	})
	h.must(func(c *farm.Config) error { zone(c).TTL = 60; return nil })
	cfg, _ := h.Current()
	if learned := zone(cfg).Learned(&h.keys()[1]); !learned.Equal(now.Add(7 * day)) {
		t.Errorf("the key is learned %v later", learned.Sub(*now))
	}
	use := func(c *farm.Config) { zone(c).Activate(1, *now) }
	h.wantTrust("the next key", "has DS records for other keys only", use)
	parent.ds = append(parent.ds, dsOf(h.keys()[1]))
	h.wantTrust("the next key with its DS record", "", use)
	h.must(func(c *farm.Config) error { zone(c).TTL = 86400; return nil })
	h.must(func(c *farm.Config) error { use(c); return nil })
	h.must(func(c *farm.Config) error { zone(c).TTL = 30; return nil })
	comment := 0
	again := func(want int, when string) {
		t.Helper()
		comment++
		h.must(func(c *farm.Config) error {
			zone(c).Records[0].Comment = strings.Repeat("x", comment)
			return nil
		})
		if len(h.keys()) != want {
			t.Errorf("%s: there are %d keys, want %d", when, len(h.keys()), want)
		}
	}
	drop := func(c *farm.Config) { zone(c).Keys = slices.Clone(zone(c).Keys[1:]) }
	h.wantTrust("delete the retired key", "it is deleted automatically then", drop)
	*now = now.Add(7*day + time.Hour)
	again(2, "while answers of the old key are held")
	*now = now.Add(time.Second)
	again(1, "when none is")
}

// A signed parent zone in the same farm has the DS record automatically.
func TestAZoneBelowASignedOneOfTheFarmStaysSigned(t *testing.T) {
	h, parent, now := trustHouse(t)
	child := farm.NewZone("eu.example.com")
	child.Signing = farm.SignEd25519
	h.must(func(c *farm.Config) error {
		c.Farms[0].Global.Zones = append(c.Farms[0].Global.Zones, child)
		return nil
	})
	at := func(c *farm.Config) *farm.Zone { return &c.Farms[0].Global.Zones[1] }
	off := func(c *farm.Config) { at(c).Signing = "" }
	h.wantTrust("unsigned", "the zone example.com of the farm names its key", off)
	h.wantTrust("deleted", "the zone example.com of the farm names its key", func(c *farm.Config) { c.Farms[0].Global.Zones = c.Farms[0].Global.Zones[:1] })
	h.must(func(c *farm.Config) error {
		k, err := apply.NewZoneKey(farm.SignEd25519, farm.KeyPublished, *now)
		at(c).Keys = append(slices.Clone(at(c).Keys), k)
		zone(c).TTL = 86400
		return err
	})
	use := func(c *farm.Config) { at(c).Activate(1, *now) }
	h.wantTrust("used at once", "resolvers may hold DS records of the zone example.com without the new key", use)
	*now = now.Add(day)
	h.wantTrust("used later", "", use)
	parent.ds = nil
	h.must(func(c *farm.Config) error { zone(c).Signing = ""; return nil })
	asked := parent.asked
	h.wantTrust("below a zone that is not signed", "", off)
	if parent.asked != asked {
		t.Error("the parent zone is queried for an unsigned zone")
	}
}
