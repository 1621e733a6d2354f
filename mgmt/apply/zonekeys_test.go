package apply_test

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/dns/sign"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
)

// names returns a farm with a signed zone.
func names() farm.Farm {
	z := farm.NewZone("example.com")
	z.Signing = farm.SignEd25519
	return farm.Farm{Name: "names", Profile: farm.ProfileGSLB, VIP: netip.MustParseAddr("127.0.0.1"), VPort: 5300, Global: &farm.GSLB{Zones: []farm.Zone{z}}}
}

// zone returns the zone of the first farm, to be changed.
func zone(c *farm.Config) *farm.Zone { return &c.Farms[0].Global.Zones[0] }

// signedHouse returns a house with that farm.
func signedHouse(t *testing.T, options ...apply.Option) *house {
	t.Helper()
	h := newHouse(t, append([]apply.Option{apply.WithSecrets(newSalted("here"))}, options...)...)
	h.must(add(names()))
	return h
}

func (h *house) keys() []farm.ZoneKey {
	cfg, _ := h.Current()
	return zone(cfg).Keys
}

func TestSignedZoneGetsASealedKey(t *testing.T) {
	h := signedHouse(t)
	keys := h.keys()
	if len(keys) != 1 || keys[0].State != farm.KeyActive || keys[0].Algorithm != farm.SignEd25519 {
		t.Fatalf("keys: %+v", keys)
	}
	cfg, _ := h.Current()
	if _, sealed := keys[0].Private.Sealed(); !sealed {
		t.Errorf("the private key is kept as it is: %s", text(t, cfg))
	}
	h.must(func(c *farm.Config) error { zone(c).TTL = 60; return nil })
	if again := h.keys(); !slices.Equal(again, keys) {
		t.Errorf("after another change the keys are %+v, want %+v", again, keys)
	}
}

// A document that names no keys leaves the zone and its keys unchanged.
func TestAZoneKeepsItsKeysWhenADocumentNamesNone(t *testing.T) {
	h := signedHouse(t)
	before := h.moment()
	cfg, err := document.Decode([]byte(before.stored))
	if err != nil {
		t.Fatal(err)
	}
	zone(cfg).Keys = nil
	r, err := h.Replace(context.Background(), root, "test", 0, cfg)
	if err != nil || !r.Unchanged {
		t.Errorf("it is a change: %v\n%s", err, r.Diff)
	}
	if after := h.moment(); after.stored != before.stored {
		t.Errorf("it became\n%s", after.stored)
	}
}

// A list of keys that is empty but not nil means that the last key was deleted.
func TestTheLastKeyOfAZoneIsDeleted(t *testing.T) {
	h := signedHouse(t)
	h.must(func(c *farm.Config) error { zone(c).Signing = ""; return nil })
	before := h.keys()
	h.must(func(c *farm.Config) error { zone(c).Keys = []farm.ZoneKey{}; return nil })
	if len(before) != 1 || len(h.keys()) != 0 {
		t.Fatalf("keys before and after: %+v, %+v", before, h.keys())
	}
	h.must(func(c *farm.Config) error { zone(c).TTL = 60; return nil })
	if keys := h.keys(); len(keys) != 0 {
		t.Errorf("after another change: %+v", keys)
	}
	h.must(func(c *farm.Config) error { zone(c).Signing = farm.SignEd25519; return nil })
	if keys := h.keys(); len(keys) != 1 || keys[0].Public == before[0].Public {
		t.Errorf("signed again, with %+v", keys)
	}
}

// Serials rise with the answers: a change of keys counts, a change of something else does not.
func TestTheSerialRisesWithTheKeys(t *testing.T) {
	h := signedHouse(t)
	serial := func() uint32 {
		cfg, _ := h.Current()
		return zone(cfg).Serial
	}
	first := serial()
	h.must(func(c *farm.Config) error { c.Farms[0].Notes = &farm.Notes{Comment: "x"}; return nil })
	if got := serial(); got != first {
		t.Errorf("a change of something else made it %d of %d", got, first)
	}
	h.must(func(c *farm.Config) error {
		k, err := apply.NewZoneKey(farm.SignEd25519, farm.KeyPublished, time.Now())
		zone(c).Keys = append(slices.Clone(zone(c).Keys), k)
		return err
	})
	if got := serial(); got != first+1 {
		t.Errorf("a new key made it %d of %d", got, first)
	}
}

func TestSigningAlgorithmChangesOnlyWhileUnsigned(t *testing.T) {
	h := signedHouse(t)
	before := h.moment()
	to := func(a farm.SigningAlgorithm) func(*farm.Config) error {
		return func(c *farm.Config) error { zone(c).Signing = a; return nil }
	}
	if _, err := h.Change(context.Background(), root, "test", 0, to(farm.SignECDSA)); err == nil || !strings.Contains(err.Error(), "set dnssec to off") {
		t.Errorf("it was accepted: %v", err)
	}
	if after := h.moment(); after != before {
		t.Error("a refused change changed something")
	}
	h.must(to(""))
	kept := h.keys()
	h.must(to(farm.SignEd25519))
	if got := h.keys(); !slices.Equal(got, kept) || len(got) != 1 {
		t.Errorf("signed again as before, the keys are %+v, before %+v", got, kept)
	}
	h.must(to(""))
	h.must(to(farm.SignECDSA))
	if got := h.keys(); len(got) != 1 || got[0].Algorithm != farm.SignECDSA || got[0].State != farm.KeyActive {
		t.Errorf("with another algorithm the keys are %+v", got)
	}
}

// A retired key is deleted only once its signatures are no longer cached.
func TestRetiredKeyIsDeletedAfterItsTTL(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := signedHouse(t, apply.WithClock(func() time.Time { return now }))
	h.must(func(c *farm.Config) error {
		k, err := apply.NewZoneKey(farm.SignEd25519, farm.KeyRetired, now)
		zone(c).Keys = append(slices.Clone(zone(c).Keys), k)
		zone(c).Records[1].TTL = 7200 // the longest TTL
		return err
	})
	touch := func() int {
		h.must(func(c *farm.Config) error {
			c.Farms[0].Notes = &farm.Notes{Comment: now.String() + strconv.Itoa(len(h.keys()))}
			return nil
		})
		return len(h.keys())
	}
	for _, step := range []struct {
		later time.Duration
		want  int
	}{{0, 2}, {3 * time.Hour, 2}, {time.Second, 1}} {
		now = now.Add(step.later)
		if got := touch(); got != step.want {
			t.Errorf("%v later there are %d keys, want %d", step.later, got, step.want)
		}
	}
}

// Only the engine gets plain keys, and only for signed zones.
func TestTheEngineIsGivenOpenKeys(t *testing.T) {
	h := signedHouse(t)
	cfg, _ := h.Current()
	published := func() (*farm.Config, map[uint32]string) {
		out, problems := *cfg, map[uint32]string{}
		out.Farms = slices.Clone(cfg.Farms)
		apply.OpenZoneKeys(newSalted("here"), &out, problems)
		return &out, problems
	}
	out, problems := published()
	if len(problems) != 0 {
		t.Errorf("problems: %v", problems)
	}
	if _, err := sign.Open(zone(out), []byte("\x07example\x03com\x00")); err != nil {
		t.Errorf("the engine cannot sign: %v", err)
	}
	if _, sealed := zone(cfg).Keys[0].Private.Sealed(); !sealed {
		t.Error("the key is open where it is kept, too")
	}
	h.must(func(c *farm.Config) error { zone(c).Signing = ""; return nil })
	cfg, _ = h.Current()
	if out, _ := published(); len(zone(out).Keys) != 0 || len(zone(cfg).Keys) != 1 {
		t.Error("a zone that is not signed has its keys published, or lost them")
	}
}

// A key sealed by another appliance cannot sign: the farm does not run, and its problem says
// why.
func TestUndecryptableKeyStopsTheFarm(t *testing.T) {
	h := signedHouse(t)
	cfg, _ := h.Current()
	out, problems := *cfg, map[uint32]string{}
	out.Farms = slices.Clone(cfg.Farms)
	apply.OpenZoneKeys(newSalted("there"), &out, problems)
	const want = "example.com was sealed by another appliance and cannot be read here: set dnssec to off, delete the key"
	if !out.Farms[0].Stopped || cfg.Farms[0].Stopped || !strings.Contains(problems[cfg.Farms[0].ID], want) {
		t.Errorf("stopped %v, problems %v", out.Farms[0].Stopped, problems)
	}
	foreign := farm.Config{Farms: []farm.Farm{names()}}
	*zone(&foreign) = *zone(cfg)
	elsewhere := newHouse(t, apply.WithSecrets(newSalted("there")))
	if _, err := elsewhere.Replace(context.Background(), root, "test", 0, &foreign); err == nil || !strings.Contains(err.Error(), "private_key was sealed by another appliance") {
		t.Errorf("accepted on another appliance: %v", err)
	}
}

// The secrets shared with secondaries are sealed, keep their seals while unchanged, and are
// plain only for the engine.
func TestKeysOfSecondariesAreSealed(t *testing.T) {
	const plain = farm.Secret("MDEyMzQ1Njc4OWFiY2RlZg==")
	h := signedHouse(t)
	set := func(keys ...farm.TransferKey) []farm.TransferKey {
		h.must(func(c *farm.Config) error { c.Farms[0].Global.Keys = keys; return nil })
		cfg, _ := h.Current()
		return cfg.Farms[0].Global.Keys
	}
	first := set(farm.TransferKey{Name: "ns2", Secret: plain})
	if _, sealed := first[0].Secret.Sealed(); !sealed {
		t.Fatalf("it is kept as %q", first[0].Secret)
	}
	if again := set(farm.TransferKey{Name: "ns2", Secret: plain}, farm.TransferKey{Name: "ns3", Secret: plain}); again[0] != first[0] || again[1].Secret == first[0].Secret {
		t.Errorf("the same again is %+v, was %+v", again, first)
	}
	open, err := apply.OpenTransferKey(newSalted("here"), first[0])
	if err != nil || open.Secret != plain {
		t.Errorf("it opens as %q, %v, want %q", open.Secret, err, plain)
	}
	stranger := first[0]
	stranger.Name = "ns3"
	if _, err := apply.OpenTransferKey(newSalted("here"), stranger); err == nil || !strings.Contains(err.Error(), "give it again") {
		t.Errorf("it opens under another name: %v", err)
	}
	cfg, _ := h.Current()
	out, problems := *cfg, map[uint32]string{}
	out.Farms = slices.Clone(cfg.Farms)
	apply.OpenZoneKeys(newSalted("here"), &out, problems)
	if got := out.Farms[0].Global.Keys[0].Secret; got != plain || len(problems) != 0 || cfg.Farms[0].Global.Keys[0].Secret == plain {
		t.Errorf("the engine is given %q, %v", got, problems)
	}
	out.Farms = slices.Clone(cfg.Farms)
	apply.OpenZoneKeys(newSalted("there"), &out, problems)
	if !out.Farms[0].Stopped || len(problems) != 1 {
		t.Errorf("a farm whose keys cannot be opened runs: %v", problems)
	}
	if _, err := h.Change(context.Background(), root, "test", 0, func(c *farm.Config) error {
		c.Farms[0].Global.Keys[0] = stranger
		return nil
	}); err == nil || !strings.Contains(err.Error(), "transfer_keys: the secret of ns3 was sealed by another appliance, or for something else") {
		t.Errorf("a secret sealed with another key is accepted: %v", err)
	}
}
