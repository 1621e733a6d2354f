package state_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/l7/state"
)

// door records that it was woken.
type door struct {
	name  string
	woken *[]string
}

func (d door) Wake() { *d.woken = append(*d.woken, d.name) }

func TestClientLimitIsNeverExceeded(t *testing.T) {
	var p state.ClientLimit
	for range 3 {
		if !p.Enter(3) {
			t.Fatal("there is a slot")
		}
	}
	if p.Enter(3) || p.Taken() != 3 {
		t.Errorf("%d slots of 3 are in use", p.Taken())
	}
	p.Leave()
	if !p.Enter(3) {
		t.Error("the released slot cannot be used")
	}
	if p.Occupy(); p.Taken() != 4 {
		t.Error("an admitted client is not counted")
	}
	if p.Leave(); p.Enter(3) {
		t.Error("a fourth client is admitted")
	}
}

func TestDoorsAreWokenInOrder(t *testing.T) {
	var woken []string
	r := state.New(1)
	p := r.ClientLimits.Of(1)
	if !p.Wait(door{"none", &woken}, 2) || p.Waiting() != 0 || !p.Enter(2) {
		t.Fatal("there is a slot, and one waits")
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if p.Wait(door{name, &woken}, 2) {
			t.Fatalf("%s got a slot although all are in use", name)
		}
	}
	p.Leave()
	if !slices.Equal(woken, []string{"a"}) {
		t.Fatalf("for one slot were woken %v", woken)
	}
	p.Leave()
	if r.Open(); !slices.Equal(woken, []string{"a", "b", "c", "d"}) {
		t.Errorf("woken were %v", woken)
	}
	if r.Open(); len(woken) != 4 || p.Waiting() != 0 {
		t.Errorf("a door that no longer waits is woken or counted: %v", woken)
	}
	p.Occupy()
	if p.Leave(); len(woken) != 4 {
		t.Errorf("a door that no longer waits is woken: %v", woken)
	}
}

// signal is a door with a goroutine as its loop.
type signal chan struct{}

func (s signal) Wake() { s <- struct{}{} }

// There are never more clients than slots, and every door gets its turn.
func TestManyDoorsShareTheirSlots(t *testing.T) {
	const doors, clients, limit = 8, 2000, 3
	var p state.ClientLimit
	var in atomic.Int64
	var all sync.WaitGroup
	for range doors {
		all.Go(func() {
			d := make(signal, 1)
			for range clients {
				for !p.Enter(limit) && !p.Wait(d, limit) {
					<-d
				}
				if n := in.Add(1); n > limit {
					t.Errorf("%d are in", n)
				}
				runtime.Gosched() // others find no slot
				in.Add(-1)
				p.Leave()
			}
		})
	}
	all.Wait()
	if p.Taken() != 0 || p.Waiting() != 0 {
		t.Errorf("%d slots are still in use, %d doors still wait", p.Taken(), p.Waiting())
	}
}

// A door that begins to wait just when the only slot becomes free either gets it or is
// woken, although no client leaves later.
func TestNoDoorIsForgotten(t *testing.T) {
	var p state.ClientLimit
	var round, met atomic.Int64
	const rounds = 60_000
	d := make(signal, 1)
	go func() {
		for i := int64(1); i <= rounds; i++ {
			for spins := 0; round.Load() < i; spins++ {
				if spins > 1000 {
					runtime.Gosched()
				}
			}
			p.Leave()
		}
	}()
	for i := int64(1); i <= rounds; i++ {
		if !p.Enter(1) {
			t.Fatal("the slot is not free")
		}
		round.Store(i)
		for range i % 256 { // varies the timing
			met.Add(1)
		}
		for entered := p.Wait(d, 1); !entered; {
			select {
			case <-d:
			case <-time.After(10 * time.Second):
				t.Fatalf("round %d: a door waits though there is a slot", i)
			}
			// A wake-up of the previous round may have been late and useless. Then the door
			// waits again.
			entered = p.Enter(1) || p.Wait(d, 1)
		}
		p.Leave()
	}
}

func TestEnterAllocatesNothing(t *testing.T) {
	var p state.ClientLimit
	if n := testing.AllocsPerRun(100, func() { p.Enter(1); p.Leave() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
