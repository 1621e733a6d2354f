package balance_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// A copy predicts the next Pick, any number of times.
func TestCopyPredictsPickWithoutSideEffects(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, policy := range []farm.RoutingPolicy{farm.PolicyRoundRobin, farm.PolicyLeastConnections, farm.PolicyPending, farm.PolicyConsistentHash} {
		healthTable, err := health.OpenTable(make([]byte, health.TableSize))
		if err != nil {
			t.Fatal(err)
		}
		var members []balance.Member
		for i := range 7 {
			members = append(members, balance.Member{ID: uint32(i + 1), Weight: 1 + i%3, Priority: 1 + i%2, Limit: int64(i%3) * 2})
		}
		p := balance.New(balance.Parse(policy), members, healthTable, &balance.State{})
		var held []*balance.Load
		for range 500 {
			hash := r.Uint64()
			var said int
			var could bool
			for range 3 {
				said, could = p.Copy().Pick(hash, balance.Tried{})
			}
			i, ok := p.Pick(hash, balance.Tried{})
			if i != said || ok != could {
				t.Fatalf("%s: picked %d, %v, the copy predicted %d, %v", policy, i, ok, said, could)
			}
			if ok {
				held = append(held, p.Held(i))
			}
			if len(held) > 0 && (!ok || r.IntN(2) == 0) {
				n := r.IntN(len(held))
				held[n].Done()
				held[n] = held[len(held)-1]
				held = held[:len(held)-1]
			}
			if r.IntN(10) == 0 {
				healthTable.SetPassive(uint32(1+r.IntN(7)), health.State(1+r.IntN(2)), time.Now())
			}
		}
	}
}

func TestVerdictReportsWhyAMemberIsSkipped(t *testing.T) {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	members := []balance.Member{{ID: 1}, {ID: 2, Out: true}, {ID: 3, Priority: 4}, {ID: 4, Limit: 1}, {ID: 5}}
	p := balance.New(balance.RoundRobin, members, healthTable, &balance.State{})
	healthTable.SetPassive(5, health.Down, time.Now())
	if !p.Claim(3) {
		t.Fatal("there is room")
	}
	for i, want := range []balance.Verdict{balance.Eligible, balance.Out, balance.Later, balance.Full, balance.Down} {
		if got := p.Verdict(i, balance.Tried{}); got != want {
			t.Errorf("member %d: verdict %d, want %d", i, got, want)
		}
	}
	if got := p.Verdict(0, balance.Tried{}.With(0)); got != balance.Used {
		t.Errorf("a member that was tried: verdict %d, want %d", got, balance.Used)
	}
}

func TestCostDescribesTheComparedValue(t *testing.T) {
	for algorithm, want := range map[balance.Algorithm]string{
		balance.RoundRobin: "", balance.ConsistentHash: "", balance.LeastConnections: "1 in flight", balance.RandomOfTwo: "1 in flight",
		balance.PendingConnections: "2 pending", balance.ResponseTime: "100µs expected", // twice the minimum, with one in flight
	} {
		f := newFixture(t, balance.Member{})
		p := f.picker(algorithm)
		if !p.Claim(0) {
			t.Fatal("there is room")
		}
		p.Member(0).Load.Pending.Add(2)
		if got := p.Cost(0); got != want {
			t.Errorf("%v: cost %q, want %q", algorithm, got, want)
		}
	}
}

// A separate finding affects one Picker only; loads are shared by both.
func TestPerPortPickerUsesItsOwnFindings(t *testing.T) {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	members := []balance.Member{{ID: 1, Limit: 1}, {ID: 2, Priority: 2}}
	p := balance.NewL4(farm.L4Priority, members, healthTable, &balance.State{})
	found := []*health.Slot{new(health.Slot), new(health.Slot)}
	apart := p.Apart(func(i int) *health.Slot { return found[i] })
	picks := func(p *balance.Picker, want int) {
		t.Helper()
		if i, ok := p.Pick(0, balance.Tried{}); i != want || !ok {
			t.Errorf("%d, %v was picked, want %d", i, ok, want)
		} else {
			p.Held(i).Done()
		}
	}
	picks(apart, 0)
	if !healthTable.SetApart(found[0], health.Down, time.Now()) || healthTable.SetApart(found[0], health.Down, time.Now()) {
		t.Error("a finding must advance the version exactly once")
	}
	picks(apart, 1)
	picks(p, 0)
	if apart.Claim(0) || apart.Usable(0) || apart.Verdict(0, balance.Tried{}) != balance.Down || apart.Copy().Usable(0) {
		t.Error("a member with a separate finding can be claimed")
	}
	healthTable.SetApart(found[0], health.Up, time.Now())
	if !p.Claim(0) || apart.Claim(0) {
		t.Error("one connection less or more than it may have")
	}
}

func TestBeyondTheLevelTheFirstByPriorityIsPicked(t *testing.T) {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	members := []balance.Member{{ID: 1}, {ID: 2, Priority: 9}, {ID: 3, Priority: 5, Limit: 1}, {ID: 4, Priority: 3, Out: true}}
	p := balance.NewL4(farm.L4Weight, members, healthTable, &balance.State{})
	for _, want := range []int{2, 1} { // the second time the first is full
		if i, ok := p.Beyond(balance.Tried{}.With(0)); i != want || !ok {
			t.Errorf("%d, %v was picked, want %d", i, ok, want)
		}
	}
	if i, ok := p.Beyond(balance.Tried{}.With(1)); ok || i != 0 {
		t.Errorf("%d was picked of the remaining members", i)
	}
}
