package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/store"
)

// note is one acknowledged change: steps added to the number of each farm.
type note struct {
	revision uint64
	steps    []step
	seen     uint64 // the expected revision; 0: any
}

type step struct {
	farm string
	add  int
}

func (s step) edit(c *farm.Config) error {
	f := c.Farm(s.farm)
	f.HTTP.Error503 = strconv.Itoa(errorNumber(f) + s.add)
	return nil
}

func errorNumber(f *farm.Farm) int { n, _ := strconv.Atoi(f.HTTP.Error503); return n }

// writers change two farms in all possible ways and record the results. floor is the highest
// acknowledged revision.
type writers struct {
	*house
	mu    sync.Mutex
	notes []note
	floor atomic.Uint64

	conflicts atomic.Int32
}

func (w *writers) told(n note, floor uint64) {
	if n.revision <= floor {
		w.t.Errorf("revision %d was made after %d was known", n.revision, floor)
	}
	for {
		old := w.floor.Load()
		if old >= n.revision || w.floor.CompareAndSwap(old, n.revision) {
			break
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n)
}

var errStop = errors.New("stop here")

// one makes one random change.
func (w *writers) one(r *rand.Rand) {
	ctx, floor := context.Background(), w.floor.Load()
	s := step{[]string{"a", "b"}[r.IntN(2)], 1 + r.IntN(1000)}
	switch r.IntN(6) {
	case 0, 1:
		if result, err := w.Change(ctx, root, "", 0, s.edit); err != nil {
			w.t.Error(err)
		} else {
			w.told(note{revision: result.Revision.Number, steps: []step{s}}, floor)
		}
	case 2: // compare and swap: write a computed value unless somebody wrote meanwhile
		cfg, rev := w.Current()
		if rev.Number < floor {
			w.t.Errorf("revision %d is read after %d was known", rev.Number, floor)
		}
		next := strconv.Itoa(errorNumber(cfg.Farm(s.farm)) + s.add)
		result, err := w.Change(ctx, root, "", rev.Number, func(c *farm.Config) error { c.Farm(s.farm).HTTP.Error503 = next; return nil })
		if err == nil {
			w.told(note{result.Revision.Number, []step{s}, rev.Number}, floor)
		} else if w.conflicts.Add(1); !errors.Is(err, apply.ErrConflict) {
			w.t.Error(err)
		}
	case 3:
		both := []step{s, {"a", r.IntN(9) + 1}, {"b", r.IntN(9) + 1}}
		result, err := w.Transact(ctx, root, "", 0, func(d *apply.Draft) error {
			for _, s := range both {
				if _, err := d.Change(ctx, root, "", 0, s.edit); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			w.t.Error(err)
		} else {
			w.told(note{revision: result.Revision.Number, steps: both}, floor)
		}
	case 4: // fails half-way
		_, err := w.Transact(ctx, root, "", 0, func(d *apply.Draft) error {
			_, err := d.Change(ctx, root, "", 0, s.edit)
			return errors.Join(err, errStop)
		})
		if !errors.Is(err, errStop) {
			w.t.Error(err)
		}
	case 5:
		if _, err := w.Change(apply.DryRun(ctx), root, "", 0, s.edit); !errors.Is(err, apply.ErrDryRun) {
			w.t.Error(err)
		}
	}
}

// The history is linearisable. Each revision is exactly one acknowledged change, and a change
// acknowledged before another one began precedes it. No change is lost to a writer that had
// read an older revision.
func TestAHundredWritersAtOnceMakeOneHistory(t *testing.T) {
	w := &writers{house: newHouse(t)}
	w.must(func(c *farm.Config) error { c.Farms = []farm.Farm{shop("a", 8080), shop("b", 8090)}; return nil })
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			for range 4 {
				w.one(r)
			}
		})
	}
	all.Wait()
	slices.SortFunc(w.notes, func(x, y note) int { return int(x.revision) - int(y.revision) })
	model := map[string]int{}
	for i, n := range w.notes {
		if n.revision != uint64(i)+2 {
			t.Fatalf("change %d is revision %d: %+v", i, n.revision, n)
		}
		if n.seen != 0 && n.seen != n.revision-1 {
			t.Errorf("revision %d was made from revision %d: changes between are lost", n.revision, n.seen)
		}
		for _, s := range n.steps {
			model[s.farm] += s.add
		}
		cfg, _, err := w.store.Get(n.revision)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range model {
			if got := errorNumber(cfg.Farm(name)); got != want {
				t.Fatalf("revision %d: farm %s shows %d, want %d after %+v", n.revision, name, got, want, n.steps)
			}
		}
	}
	_, rev := w.Current()
	if rev.Number != uint64(len(w.notes))+1 || len(w.notes) < 100 {
		t.Errorf("the newest revision is %d, %d changes were reported", rev.Number, len(w.notes))
	}
	if w.conflicts.Load() == 0 {
		t.Error("no conflicts: the writers did not run at the same time")
	}
	checkDiffs(t, w.store, rev.Number)
}

// checkDiffs fails unless the stored diff of each revision is its actual difference.
func checkDiffs(t *testing.T, s *store.Store, last uint64) {
	t.Helper()
	history, err := s.History(1000, 0)
	if err != nil || uint64(len(history)) != last {
		t.Fatalf("%d revisions, %v", len(history), err)
	}
	for _, r := range history {
		want, err := s.Diff(r.Number-1, r.Number)
		if err != nil || r.Diff != want || !strings.Contains(r.Diff, "@@") {
			t.Fatalf("revision %d: %v\n%s", r.Number, err, fmt.Sprint(r.Diff))
		}
	}
}
