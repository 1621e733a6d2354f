package apply_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/apply/applytest"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var root = apply.Author{Name: "root", Source: "cli"}

// house is an Applier with its dependencies.
type house struct {
	*apply.Applier
	t     *testing.T
	dir   string
	store *store.Store
	pub   *applytest.Publisher
	names applytest.Names
}

func newHouse(t *testing.T, options ...apply.Option) *house {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	h := &house{t: t, dir: dir, store: st, pub: &applytest.Publisher{}}
	options = append([]apply.Option{apply.WithRules(validate.Rules{}), apply.WithNames(&h.names)}, options...)
	h.Applier = apply.New(st, h.pub, options...)
	return h
}

func (h *house) name(host, addrs string) { h.names.Set(host, addrs) }

// shop returns a farm with one service and one backend.
func shop(name string, vport uint16) farm.Farm {
	d := farm.DefaultHTTP()
	d.Services = []farm.Service{{Name: "web", Backends: []farm.Backend{{Host: "127.0.0.1", Port: 8081}}}}
	return farm.Farm{Name: name, Profile: farm.ProfileHTTP, VIP: netip.MustParseAddr("127.0.0.1"), VPort: vport, HTTP: d}
}

func add(f farm.Farm) func(*farm.Config) error {
	return func(c *farm.Config) error { c.Farms = append(c.Farms, f); return nil }
}

func (h *house) must(edit func(*farm.Config) error) apply.Result {
	h.t.Helper()
	r, err := h.Change(context.Background(), root, "test", 0, edit)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// moment is the state that a refused change must not alter.
type moment struct {
	current *farm.Config
	number  uint64
	stored  string
	inForce string
	history int
}

func (h *house) moment() moment {
	h.t.Helper()
	current, rev := h.Current()
	stored, storedRev := h.store.Current()
	if storedRev.Number != rev.Number {
		h.t.Errorf("current is revision %d, the store has %d", rev.Number, storedRev.Number)
	}
	history, err := h.store.History(100, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return moment{current, rev.Number, text(h.t, stored), text(h.t, h.pub.InForce()), len(history)}
}

func text(t *testing.T, c *farm.Config) string {
	t.Helper()
	if c == nil {
		return ""
	}
	out, err := document.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestAChangeIsPublishedAndKept(t *testing.T) {
	h := newHouse(t)
	r := h.must(add(shop("a", 8080)))
	if r.Unchanged || r.Revision.Number != 1 || r.Revision.Author != "root" || r.Revision.Source != "cli" || r.Revision.Comment != "test" {
		t.Errorf("result %+v", r)
	}
	if !strings.Contains(r.Diff, "+  - name: a\n") {
		t.Errorf("difference:\n%s", r.Diff)
	}
	cfg, _ := h.Current()
	if !reflect.DeepEqual(cfg, h.pub.InForce()) || !h.InSync() {
		t.Error("the engines do not run the current configuration")
	}
	f := cfg.Farms[0]
	if f.ID == 0 || f.HTTP.Services[0].ID == 0 || f.HTTP.Services[0].Backends[0].ID == 0 || f.HTTP.Services[0].Backends[0].Addr != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("IDs and address are missing: %+v", f)
	}
	stored, rev := h.store.Current()
	if rev.Number != 1 || text(t, stored) != text(t, cfg) {
		t.Error("the store has something else")
	}
}

func TestARefusedChangeChangesNothing(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name   string
		answer func(*farm.Config) (apply.Outcome, error)
		edit   func(*farm.Config) error
		expect uint64
		check  func(error) bool
	}{
		{"by the edit", nil, func(*farm.Config) error { return boom }, 0, func(err error) bool { return err == boom }},
		{"by a rule", nil, add(shop("b_", 8082)), 0, func(err error) bool { var v *field.Error; return errors.As(err, &v) && v.Field == "name" }},
		{"by a taken address", nil, add(shop("b", 8080)), 0, func(err error) bool { var v *field.Error; return errors.As(err, &v) && v.Field == "vport" }},
		{"by the expected revision", nil, add(shop("b", 8082)), 7, func(err error) bool { return errors.Is(err, apply.ErrConflict) }},
		{"by the engine", func(c *farm.Config) (apply.Outcome, error) {
			if len(c.Farms) > 1 {
				return apply.Outcome{}, &apply.Refused{Reason: "layout not known"}
			}
			return apply.Outcome{}, nil
		}, add(shop("b", 8082)), 0, func(err error) bool { var r *apply.Refused; return errors.As(err, &r) }},
		{"by the port of the new farm", func(c *farm.Config) (apply.Outcome, error) {
			if f := c.Farm("b"); f != nil {
				return apply.Outcome{FarmErrors: map[uint32]string{f.ID: "address in use"}}, nil
			}
			return apply.Outcome{}, nil
		}, add(shop("b", 8082)), 0, func(err error) bool {
			var r *apply.Refused
			return errors.As(err, &r) && len(r.Farms) == 1 && err.Error() == `farm "b": address in use`
		}},
		{"by an engine that is not there", func(c *farm.Config) (apply.Outcome, error) {
			return apply.Outcome{}, apply.ErrUnavailable
		}, add(shop("b", 8082)), 0, func(err error) bool { return errors.Is(err, apply.ErrUnavailable) }},
		{"by an engine that breaks", func(c *farm.Config) (apply.Outcome, error) {
			if len(c.Farms) > 1 {
				return apply.Outcome{}, boom
			}
			return apply.Outcome{}, nil
		}, add(shop("b", 8082)), 0, func(err error) bool {
			return errors.Is(err, apply.ErrUnavailable) && errors.Is(err, boom) && !strings.Contains(err.Error(), "no answer")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.must(add(shop("a", 8080)))
			before := h.moment()
			h.pub.Answer(c.answer)
			_, err := h.Change(context.Background(), root, "", c.expect, c.edit)
			if err == nil || !c.check(err) {
				t.Errorf("error is %v", err)
			}
			if after := h.moment(); !reflect.DeepEqual(before, after) {
				t.Errorf("before %+v\nafter  %+v", before, after)
			}
		})
	}
}

func TestWaitForASilentEngineIsBounded(t *testing.T) {
	h := newHouse(t, apply.WithTimeout(50*time.Millisecond))
	h.must(add(shop("a", 8080)))
	before := h.moment()
	stop := make(chan struct{})
	defer close(stop)
	h.pub.Answer(func(*farm.Config) (apply.Outcome, error) { <-stop; return apply.Outcome{}, nil })
	_, err := h.Change(context.Background(), root, "", 0, add(shop("b", 8082)))
	if !errors.Is(err, apply.ErrUnavailable) || !strings.Contains(err.Error(), "no answer within 50ms") {
		t.Errorf("error is %v", err)
	}
	if h.InSync() {
		t.Error("the state of the engine is unknown, yet the applier is in sync")
	}
	if after := h.moment(); !reflect.DeepEqual(before, after) {
		t.Errorf("before %+v\nafter  %+v", before, after)
	}
	h.pub.Answer(nil)
	if _, err := h.Republish(context.Background()); err != nil || !h.InSync() {
		t.Errorf("republish: %v, in sync %v", err, h.InSync())
	}
}

func TestFailedCommitRestoresTheOldConfiguration(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	before := text(t, h.pub.InForce())
	h.store.Close() // every commit fails from now on
	_, err := h.Change(context.Background(), root, "", 0, add(shop("b", 8082)))
	if err == nil {
		t.Fatal("a change without a store was accepted")
	}
	if got := text(t, h.pub.InForce()); got != before {
		t.Errorf("the engines run\n%s", got)
	}
	if h.pub.Published() != 3 {
		t.Errorf("published %d times, want the change and the old one again", h.pub.Published())
	}
	if cfg, rev := h.Current(); rev.Number != 1 || len(cfg.Farms) != 1 {
		t.Errorf("current is revision %d with %d farms", rev.Number, len(cfg.Farms))
	}
}

// The store is checked before a change is published.
func TestAChangeTheStoreCannotTakeIsNotPublished(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	file := filepath.Join(h.dir, store.FileName)
	st, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(st.Size())-8192), 8192); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Change(context.Background(), root, "", 0, add(shop("b", 8082))); err == nil {
		t.Fatal("a damaged store accepted a change")
	}
	published := h.pub.Published() // only the write of the first one detected the damage
	if _, err := h.Change(context.Background(), root, "", 0, add(shop("b", 8082))); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("refused with %v", err)
	}
	if now := h.pub.Published(); now != published {
		t.Errorf("a change that was refused was published, %d times", now-published)
	}
}

func TestConcurrentChangesFollowEachOther(t *testing.T) {
	h := newHouse(t)
	const writers, each = 8, 5
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				name, port := fmt.Sprintf("f-%d-%d", w, i), uint16(9000+w*each+i)
				if _, err := h.Change(context.Background(), root, name, 0, add(shop(name, port))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	cfg, rev := h.Current()
	if len(cfg.Farms) != writers*each || rev.Number != writers*each {
		t.Errorf("%d farms at revision %d", len(cfg.Farms), rev.Number)
	}
	if text(t, h.pub.InForce()) != text(t, cfg) {
		t.Error("the engines run something else")
	}
	seen := map[uint32]bool{}
	for _, f := range cfg.Farms {
		if seen[f.ID] {
			t.Errorf("farm ID %d is given twice", f.ID)
		}
		seen[f.ID] = true
	}
}

func TestUnchangedConfigurationMakesNoRevision(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	published := h.pub.Published()
	r := h.must(func(c *farm.Config) error { c.Farms[0].HTTP.Services[0].Backends[0].Weight = 0; return nil })
	if !r.Unchanged || r.Revision.Number != 1 || r.Diff != "" || h.pub.Published() != published {
		t.Errorf("%+v, published %d times more", r, h.pub.Published()-published)
	}
	exported := text(t, r.Config)
	again, err := document.Decode([]byte(exported))
	if err != nil {
		t.Fatal(err)
	}
	if r, err = h.Replace(context.Background(), root, "", 1, again); err != nil || !r.Unchanged {
		t.Errorf("an exported document is a change: %v %+v", err, r)
	}
}

func TestReplaceKeepsIDsOfUnchangedObjects(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	was, _ := h.Current()
	next := &farm.Config{Farms: []farm.Farm{shop("new", 8082), shop("a", 8083)}}
	next.Farms[1].HTTP.Services = append([]farm.Service{{Name: "first"}}, next.Farms[1].HTTP.Services...)
	plan, err := h.Plan(context.Background(), next)
	if err != nil || !strings.Contains(plan.Diff, "+  - name: new\n") || h.pub.Published() != 1 || plan.Revision.Number != 1 {
		t.Fatalf("plan: %v\n%s", err, plan.Diff)
	}
	r, err := h.Replace(context.Background(), root, "", 0, next)
	if err != nil || r.Diff != plan.Diff {
		t.Fatalf("%v\nplanned\n%s\ndone\n%s", err, plan.Diff, r.Diff)
	}
	a, old := r.Config.Farm("a"), was.Farm("a")
	if a.ID != old.ID || a.Service("web").ID != old.Service("web").ID || a.Service("web").Backends[0].ID != old.Service("web").Backends[0].ID {
		t.Errorf("IDs were lost: %+v", a)
	}
	if n := r.Config.Farm("new"); n.ID == old.ID || n.ID == 0 || a.Service("first").ID == a.Service("web").ID {
		t.Errorf("IDs are shared: %+v", n)
	}
}

func TestCopiedFarmHasNewIDs(t *testing.T) {
	h := newHouse(t)
	h.must(add(shop("a", 8080)))
	r := h.must(func(c *farm.Config) error {
		twin := c.Farms[0].Clone()
		twin.Name, twin.VPort = "b", 8082
		c.Farms = append(c.Farms, twin)
		return nil
	})
	a, b := r.Config.Farm("a"), r.Config.Farm("b")
	if a.ID == b.ID || a.HTTP.Services[0].ID == b.HTTP.Services[0].ID || a.HTTP.Services[0].Backends[0].ID == b.HTTP.Services[0].Backends[0].ID {
		t.Errorf("the copy shares IDs: %+v %+v", a, b)
	}
}

func TestRollbackRestoresContentAndIDs(t *testing.T) {
	h := newHouse(t)
	first := h.must(add(shop("a", 8080)))
	h.must(func(c *farm.Config) error { c.Farms[0].Name = "renamed"; c.Farms[0].VPort = 8088; return nil })
	r, err := h.Rollback(context.Background(), root, "", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Revision.Number != 3 || r.Revision.Comment != "rollback to revision 1" || text(t, r.Config) != text(t, first.Config) {
		t.Errorf("%+v\n%s", r.Revision, text(t, r.Config))
	}
	if r.Config.Farms[0].ID != first.Config.Farms[0].ID {
		t.Errorf("the farm got another ID: got %d, want %d", r.Config.Farms[0].ID, first.Config.Farms[0].ID)
	}
	if r, err = h.Rollback(context.Background(), root, "", 0, 0); err != nil || len(r.Config.Farms) != 0 {
		t.Errorf("rollback to the beginning: %v %+v", err, r.Config)
	}
	if _, err := h.Rollback(context.Background(), root, "", 0, 99); !errors.Is(err, apply.ErrNotFound) {
		t.Errorf("rollback to the future: %v", err)
	}
}
