package session_test

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluicelb/sluice/core/session"
)

const ttl = 100 * time.Nanosecond

// key returns the nth key. A third of the keys exceed an entry, with all lengths.
func key(n int) []byte {
	if n%3 == 0 {
		return fmt.Appendf(nil, "%0*d", 30+n*31%(session.MaxKey-29), n)
	}
	return fmt.Appendf(nil, "client-%d", n)
}

// TestTableBehavesLikeAMap applies the same steps to a map and to a table that never
// fills up.
func TestTableBehavesLikeAMap(t *testing.T) {
	type value struct {
		backend uint32
		used    int64
		static  bool
	}
	rapid.Check(t, func(t *rapid.T) {
		table, model, now := session.New(100_000), map[string]value{}, int64(0)
		live := func(k []byte) (value, bool) {
			v, ok := model[string(k)]
			return v, ok && (v.static || now-v.used <= int64(ttl))
		}
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			k := key(rapid.IntRange(0, 30).Draw(t, "key"))
			b := rapid.Uint32Range(1, 4).Draw(t, "backend")
			now += rapid.Int64Range(0, 20).Draw(t, "passes")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				table.Put(k, b, now)
				if v := model[string(k)]; v.static {
					b = v.backend
				}
				model[string(k)] = value{b, now, model[string(k)].static}
			case 7:
				table.PutStatic(k, b, now)
				model[string(k)] = value{b, now, true}
			case 8:
				table.Flush()
				maps.DeleteFunc(model, func(_ string, v value) bool { return !v.static })
			case 9:
				want, known := live(k)
				if got, ok := table.Peek(k, now, ttl); ok != known || ok && (got.Backend != want.backend || got.Used != want.used || got.Static != want.static) {
					t.Fatalf("Peek(%s) gives %v, %v; want %v, %v", k, got, ok, want, known)
				}
			case 1, 2:
				want, known := live(k)
				if !known {
					want.backend = b
				}
				owner, added := table.PutIfAbsent(k, b, now, ttl)
				if owner != want.backend || added == known {
					t.Fatalf("PutIfAbsent(%s) gives %d, %v; want %d, %v", k, owner, added, want.backend, !known)
				}
				model[string(k)] = value{want.backend, now, want.static && known}
			case 3:
				_, known := live(k)
				if _, ok := model[string(k)]; table.Delete(k) && !ok || known && table.Delete(k) {
					t.Fatalf("Delete(%s) reports a missing key", k)
				}
				delete(model, string(k))
			case 4:
				want := 0
				for name, v := range model {
					if v.backend == b && !v.static {
						delete(model, name)
						want++
					}
				}
				if got := table.DropBackend(b); got > want {
					t.Fatalf("DropBackend dropped %d of %d", got, want)
				}
			case 5:
				table.Sweep(now, ttl, rapid.IntRange(0, 40).Draw(t, "budget"))
			default:
				want, known := live(k)
				got, ok := table.Get(k, now, ttl)
				if ok != known || ok && got != want.backend {
					t.Fatalf("Get(%s) gives %d, %v; want %d, %v", k, got, ok, want.backend, known)
				}
				if known {
					model[string(k)] = value{got, now, want.static}
				}
			}
		}
		seen := map[string]uint32{}
		table.Range(func(s session.Session) bool {
			if _, twice := seen[string(s.Key)]; twice {
				t.Fatalf("%s is shown twice", s.Key)
			}
			seen[string(s.Key)] = s.Backend
			if s.Static != model[string(s.Key)].static {
				t.Fatalf("%s is shown static: got %v, want %v", s.Key, s.Static, model[string(s.Key)].static)
			}
			return true
		})
		if len(seen) != table.Len() {
			t.Fatalf("Range shows %d of %d", len(seen), table.Len())
		}
		for name := range model {
			if want, ok := live([]byte(name)); ok && seen[name] != want.backend {
				t.Fatalf("Range shows %d for %s, want %d", seen[name], name, want.backend)
			}
		}
	})
}

func TestUseKeepsASessionAlive(t *testing.T) {
	table := session.New(10)
	table.Put([]byte("a"), 7, 0)
	for now := int64(90); now < 1000; now += 90 {
		if b, ok := table.Get([]byte("a"), now, ttl); !ok || b != 7 {
			t.Fatalf("lost at %d", now)
		}
	}
	if s, _ := table.Peek([]byte("a"), 990, ttl); s.Used != 990 {
		t.Errorf("used at %d, want 990", s.Used)
	}
	table.Get([]byte("a"), 950, ttl) // from a loop with an earlier clock value
	if s, _ := table.Peek([]byte("a"), 990, ttl); s.Used != 990 {
		t.Errorf("an earlier use moved it to %d, want 990", s.Used)
	}
	if _, ok := table.Get([]byte("a"), 2000, ttl); ok {
		t.Error("alive long after its last use")
	}
	if table.Len() != 0 {
		t.Error("an expired session that was met is kept")
	}
}

func TestEmptyAndOversizedKeysAreNotStored(t *testing.T) {
	table := session.New(10)
	for _, k := range [][]byte{nil, {}, make([]byte, session.MaxKey+1)} {
		if table.Put(k, 1, 0) || table.PutStatic(k, 1, 0) {
			t.Errorf("a key of %d bytes was stored", len(k))
		}
		if b, added := table.PutIfAbsent(k, 3, 0, ttl); b != 3 || added {
			t.Errorf("a key of %d bytes was stored", len(k))
		}
		if _, ok := table.Get(k, 0, ttl); ok || table.Delete(k) {
			t.Errorf("a key of %d bytes was found", len(k))
		}
	}
	longest := make([]byte, session.MaxKey)
	if !table.Put(longest, 1, 0) {
		t.Error("the longest key was refused")
	}
	longest[200]++
	if _, ok := table.Get(longest, 0, ttl); ok {
		t.Error("another long key was found")
	}
}

func TestFullTableForgetsOldOnesAndKeepsItsBound(t *testing.T) {
	for _, limit := range []int{1, 2, 100, 20_000} {
		table := session.New(limit)
		for i := range 3 * limit {
			if !table.Put(key(i), 1, int64(i)) {
				t.Fatal("a new session was refused")
			}
			if i%1000 == 0 && table.Len() > limit {
				t.Fatalf("%d sessions, the bound is %d", table.Len(), limit)
			}
		}
		if n := table.Len(); n > limit || n < limit*9/10 {
			t.Errorf("%d sessions after many, the bound is %d", n, limit)
		}
		if _, ok := table.Get(key(3*limit-1), int64(3*limit), ttl); !ok {
			t.Error("the newest session is gone")
		}
		kept, recent := 0, 0
		table.Range(func(s session.Session) bool {
			if kept++; s.Used >= int64(limit) {
				recent++
			}
			return true
		})
		if recent < kept*9/10 {
			t.Errorf("of %d kept sessions only %d are of the last two thirds", kept, recent)
		}
	}
}

func TestStaticSessionsDoNotMakeRoom(t *testing.T) {
	table := session.New(100)
	for i := range 50 {
		if !table.PutStatic(key(i), 1, 0) {
			t.Fatal("a static session was refused")
		}
	}
	for i := range 1000 {
		table.Put(key(1000+i), 2, int64(i))
	}
	for i := range 50 {
		if b, ok := table.Get(key(i), 1<<40, ttl); !ok || b != 1 {
			t.Fatalf("static session %d is gone", i)
		}
	}
	if n := table.Len(); n > 100 || n < 80 {
		t.Errorf("%d sessions, the bound is 100", n)
	}
	full := session.New(5)
	for i := range 5 {
		full.PutStatic(key(i), 1, 0)
	}
	if full.Put(key(9), 1, 0) || full.PutStatic(key(9), 1, 0) || full.Len() != 5 {
		t.Error("a table full of static sessions accepted another")
	}
	if !full.Delete(key(3)) || !full.Put(key(9), 1, 0) {
		t.Error("there is no room after one was deleted")
	}
}

func TestSweepRemovesAllExpiredInSmallSteps(t *testing.T) {
	table := session.New(50_000)
	const n = 20_000
	for i := range n {
		table.Put(key(i), 1, int64(i%2)*1000)
	}
	if got := table.Sweep(-1, ttl, 1<<30); got != 0 {
		t.Fatalf("%d removed before their time", got)
	}
	removed, calls := 0, 0
	for ; removed < n/2 && calls < 1000; calls++ {
		got := table.Sweep(1000, ttl, 100)
		if got > 100 {
			t.Fatalf("%d removed with a budget of 100", got)
		}
		removed += got
	}
	if removed != n/2 || table.Len() != n/2 {
		t.Errorf("%d removed in %d calls, %d left", removed, calls, table.Len())
	}
	for range 2 { // the first ends its round
		removed += table.Sweep(1<<40, ttl, 2*n)
	}
	if removed != n {
		t.Errorf("%d of %d removed by a call for all of them", removed, n)
	}
}

func TestLoopsThatSeeANewClientAtOnceAgree(t *testing.T) {
	table := session.New(1000)
	for round := range 50 {
		var wg sync.WaitGroup
		got := make([]uint32, 8)
		for g := range got {
			wg.Go(func() {
				got[g], _ = table.PutIfAbsent(key(round), uint32(g+1), 0, ttl)
				table.Get(key(round), 0, ttl)
				table.Sweep(0, ttl, 10)
			})
		}
		wg.Wait()
		for _, b := range got {
			if b != got[0] {
				t.Fatalf("backends %v for one client", got)
			}
		}
	}
}

func TestRangeStopsWhenYieldReturnsFalse(t *testing.T) {
	table := session.New(100)
	for i := range 10 {
		table.Put(key(i), 1, 0)
	}
	n := 0
	table.Range(func(session.Session) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("yield was called %d times", n)
	}
}
