package keyroll_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/rdata"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/keyroll"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

const day = 24 * time.Hour

// house is a farm with a signed zone, its parent zone, and a clock.
type house struct {
	*testing.T
	*apply.Applier
	roller *keyroll.Roller
	now    time.Time
	parent resolve.Delegation
	fails  error // of queries to the parent
	asked  int
	then   func() // is called during a query to the parent
	told   []string
	logged strings.Builder
}

func newHouse(t *testing.T, zones ...farm.Zone) *house {
	t.Helper()
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	h := &house{T: t, now: time.Unix(1_800_000_000, 0), parent: resolve.Delegation{Parent: "com.", TTL: 2 * day}}
	clock := func() time.Time { return h.now }
	h.Applier = apply.New(st, &applytest.Publisher{}, apply.WithRules(validate.Rules{}), apply.WithNames(&applytest.Names{}), apply.WithSecrets(vault{}), apply.WithClock(clock))
	h.restart()
	h.change(func(c *farm.Config) {
		c.Farms = []farm.Farm{{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 5300, Global: &farm.GSLB{Zones: zones}}}
	})
	return h
}

// vault stores secrets unencrypted.
type vault struct{}

func (vault) SealSecret(_ string, plain []byte) ([]byte, error)  { return plain, nil }
func (vault) OpenSecret(_ string, sealed []byte) ([]byte, error) { return sealed, nil }

// rolled returns a zone whose keys have a lifetime of 90 days.
func rolled(name string) farm.Zone {
	z := farm.NewZone(name)
	z.Signing, z.KeyDays = farm.SignEd25519, 90
	return z
}

// restart makes a new roller, as a restart of mgmt does.
func (h *house) restart() {
	h.roller = keyroll.New(keyroll.Options{Applier: h.Applier, Now: func() time.Time { return h.now }, Log: slog.New(slog.NewTextHandler(&h.logged, nil)),
		Told: func(n keyroll.Notice) {
			h.told = append(h.told, fmt.Sprintf("%s %s %v %v", n.Farm, n.Zone, strings.HasPrefix(n.DS, fmt.Sprint(n.Key)+" 15 2 "), n.Signs))
		},
		Delegation: func(_ context.Context, zone string) (resolve.Delegation, error) {
			if h.asked++; h.then != nil {
				h.then()
			}
			if zone != "example.com" {
				h.Errorf("the parent of %s is queried", zone)
			}
			return h.parent, h.fails
		}})
}

func (h *house) change(edit func(*farm.Config)) {
	h.Helper()
	if _, err := h.Change(context.Background(), apply.Author{Name: "ann"}, "test", 0, func(c *farm.Config) error { edit(c); return nil }); err != nil {
		h.Fatal(err)
	}
}

func (h *house) zone(i int) *farm.Zone {
	cfg, _ := h.Current()
	return &cfg.Farms[0].Global.Zones[i]
}

// later calls Look after some time.
func (h *house) later(d time.Duration) { h.now = h.now.Add(d); h.roller.Look(context.Background()) }

// want checks the states of the first zone's keys.
func (h *house) want(when string, states ...farm.KeyState) {
	h.Helper()
	var got []farm.KeyState
	for _, k := range h.zone(0).Keys {
		got = append(got, k.State)
	}
	if !slices.Equal(got, states) {
		h.Fatalf("%s the keys are %v, want %v", when, got, states)
	}
}

// ds returns the DS record of the next key.
func (h *house) ds() string {
	h.Helper()
	next := h.zone(0).NextKey()
	if next == nil {
		h.Fatal("there is no next key")
	}
	return rdata.KeyOf("example.com", next.Algorithm, next.Public).DS
}

func (h *house) heard(want ...string) {
	h.Helper()
	if !slices.Equal(h.told, want) {
		h.Errorf("got %q, want %q", h.told, want)
	}
	h.told = nil
}

const (
	brings = "names example.com true false"
	signs  = "names example.com true true"
)

func TestAKeyIsReplacedOnceTheParentZoneTrustsTheNext(t *testing.T) {
	h := newHouse(t, rolled("example.com"))
	old := rdata.KeyOf("example.com", farm.SignEd25519, h.zone(0).Keys[0].Public).DS
	h.parent.DS = []string{old}
	h.later(90*day - time.Second)
	h.want("a second too early", farm.KeyActive)
	h.later(time.Second)
	h.want("after 90 days", farm.KeyActive, farm.KeyPublished)
	h.heard(brings)
	if _, rev := h.Current(); rev.Author != "the appliance" || rev.Comment != "zone example.com of farm names: make the next key" {
		t.Errorf("the revision is %+v", rev)
	}
	h.parent.DS = []string{old, h.ds()}
	h.later(time.Hour - time.Second)
	if h.asked != 0 {
		t.Error("the parent is queried before resolvers have learned the key")
	}
	h.parent.DS = []string{old}
	h.later(time.Second)
	h.later(3 * day)
	h.want("without a DS record", farm.KeyActive, farm.KeyPublished)

	h.parent.DS = []string{old, strings.ToLower(h.ds())}
	h.later(time.Minute)
	if seen := h.zone(0).Keys[1].DSSeen; seen != h.now.Unix() {
		t.Errorf("seen since %d", seen)
	}
	serial := h.zone(0).Serial
	h.restart()
	h.later(2*day - time.Second)
	h.want("while somebody may keep the DS records of before", farm.KeyActive, farm.KeyPublished)
	h.fails = errors.New("no server answers")
	h.later(day)
	h.later(day)
	h.want("while nobody knows what the parent has", farm.KeyActive, farm.KeyPublished)
	if n := strings.Count(h.logged.String(), "no server answers"); n != 1 {
		t.Errorf("logged %d times: %s", n, h.logged.String())
	}
	h.fails = nil
	h.heard()
	if now := h.zone(0).Serial; now != serial {
		t.Errorf("the serial is %d, and was %d", now, serial)
	}
	h.later(time.Second)
	h.want("with its DS record", farm.KeyRetired, farm.KeyActive)
	h.heard(signs)
	h.later(2 * time.Hour)
	h.want("while answers of the old key are kept", farm.KeyRetired, farm.KeyActive)
	h.later(time.Second)
	h.want("when none is", farm.KeyActive)
	h.later(90*day - 3*time.Hour)
	h.want("less than 90 days later", farm.KeyActive)
	h.later(time.Hour)
	h.want("90 days later", farm.KeyActive, farm.KeyPublished)
}

func TestRemovedDSRecordPausesTheRoll(t *testing.T) {
	h := newHouse(t, rolled("example.com"))
	h.later(90 * day)
	h.parent.DS = []string{h.ds()}
	h.later(time.Hour)
	ds := h.parent.DS
	h.parent.DS = nil
	h.later(time.Hour)
	h.heard(brings, brings)
	h.parent.DS = ds
	h.later(time.Hour)
	h.later(2*day - time.Second)
	h.want("while the DS record is not there for long enough", farm.KeyActive, farm.KeyPublished)
	h.later(time.Second)
	h.want("when it is", farm.KeyRetired, farm.KeyActive)
}

func TestMissingDSRecordIsReportedWeekly(t *testing.T) {
	h := newHouse(t, rolled("example.com"))
	h.later(90 * day)
	for range 15 {
		h.later(day)
	}
	h.heard(brings, brings, brings)
	h.restart()
	h.later(time.Minute)
	h.heard()
}

func TestAnOperatorMayHaveTheNextKeySign(t *testing.T) {
	h := newHouse(t, rolled("example.com"))
	h.later(90 * day)
	h.later(time.Hour)
	h.change(func(c *farm.Config) { c.Farms[0].Global.Zones[0].Activate(1, h.now) })
	h.later(time.Hour)
	h.want("by hand", farm.KeyRetired, farm.KeyActive)
	h.later(day)
	h.want("a day later", farm.KeyActive)
}

// A change during the query to the parent is kept.
func TestConcurrentChangesAreKept(t *testing.T) {
	for what, change := range map[string]func(*farm.Config){
		"the key is gone":   func(c *farm.Config) { z := &c.Farms[0].Global.Zones[0]; z.Keys = slices.Clone(z.Keys[:1]) },
		"the zone is gone":  func(c *farm.Config) { c.Farms[0].Global.Zones = nil },
		"the farm is gone":  func(c *farm.Config) { c.Farms = nil },
		"keys live longer":  func(c *farm.Config) { c.Farms[0].Global.Zones[0].KeyDays = 0 },
		"nothing is signed": func(c *farm.Config) { c.Farms[0].Global.Zones[0].Signing = "" },
		"the farm is another": func(c *farm.Config) {
			c.Farms[0].Profile, c.Farms[0].Global, c.Farms[0].HTTP = farm.ProfileHTTP, nil, farm.DefaultHTTP()
		},
	} {
		h := newHouse(t, rolled("example.com"))
		h.later(90 * day)
		h.parent.DS = []string{h.ds()}
		var changed uint64
		h.then = func() {
			h.change(change)
			_, rev := h.Current()
			changed = rev.Number
		}
		h.later(time.Hour)
		if _, rev := h.Current(); rev.Number != changed || h.logged.Len() > 0 {
			t.Errorf("%s: revision %d after %d, logged %s", what, rev.Number, changed, h.logged.String())
		}
	}
}

func TestOnlyKeysWithALifetimeAreReplaced(t *testing.T) {
	forever, plain := rolled("example.com"), rolled("example.net")
	forever.KeyDays, plain.Signing = 0, ""
	h := newHouse(t, forever, plain)
	_, before := h.Current()
	for range 5 {
		h.later(1000 * day)
	}
	if _, rev := h.Current(); rev.Number != before.Number {
		t.Errorf("it made revision %d: %s", rev.Number, rev.Comment)
	}
}

// A parent zone of the same farm has the DS records by itself, or has its own.
func TestLocalParentZoneIsNotQueried(t *testing.T) {
	child, parent := rolled("eu.example.com"), farm.NewZone("example.com")
	parent.Records = append(parent.Records, farm.Record{Name: "us", Type: "DS", Data: "1 15 2 " + strings.Repeat("00", 32)}, farm.Record{Name: "eu", Type: "NS", Data: "ns1"})
	h := newHouse(t, child, parent)
	h.later(90 * day)
	h.later(time.Hour)
	h.later(time.Hour)
	h.want("below a zone of the farm", farm.KeyRetired, farm.KeyActive)
	written := newHouse(t, rolled("eu.example.com"), parent)
	written.change(func(c *farm.Config) {
		z := &c.Farms[0].Global.Zones[1]
		z.Records = append(slices.Clone(z.Records), farm.Record{Name: "eu", Type: "DS", Data: "1 15 2 " + strings.Repeat("00", 32)})
	})
	written.later(90 * day)
	written.later(100 * day)
	written.later(100 * day)
	written.want("with another DS record", farm.KeyActive, farm.KeyPublished)
}

// The parent zone lowers the TTL of its DS records before it gets the next one: resolvers
// have cached the previous ones with the longer TTL.
func TestLongestTTLOfDSRecordsCounts(t *testing.T) {
	h := newHouse(t, rolled("example.com"))
	h.parent.DS = []string{rdata.KeyOf("example.com", farm.SignEd25519, h.zone(0).Keys[0].Public).DS}
	h.later(90 * day)
	h.later(time.Hour)
	h.parent.TTL, h.parent.DS = time.Hour, append(h.parent.DS, h.ds())
	h.later(time.Minute)
	h.later(2*day - time.Second)
	h.want("while DS records of before may be held", farm.KeyActive, farm.KeyPublished)
	h.restart()
	h.later(time.Second)
	h.want("when they are not", farm.KeyRetired, farm.KeyActive)
}
