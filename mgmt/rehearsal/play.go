package rehearsal

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

const (
	// Simulated requests: enough for an error of some percent of a share, and for several
	// turnovers of the requests in flight. With thousands of backends there are fewer,
	// because each request compares most of them. A simulation takes seconds at most.
	leastPlayed, perBackend, turnovers = 20_000, 50, 8
	mostCompared                       = 40_000_000
	// atOnce bounds the simulated requests in flight. Above it, loads and limits are
	// scaled down.
	atOnce = 4000
	// hashesTried bounds the drawn clients in the search for clients of removed backends.
	hashesTried, hashesKept = 200_000, 2000
)

// Backend is the measured state of one backend of a group.
type Backend struct {
	// Out is true if it is removed, Down if it is unusable anyway. Maintenance is
	// separate: it is part of the configuration.
	Out, Down bool
	// Rate is its current number of requests per second. Time is their duration in
	// seconds at low load; more than 0.
	Rate, Time float64
}

// Outcome is the resulting rate of each backend, by position in the group.
type Outcome struct {
	Rates []float64
	// Refused is the rate of requests without a usable backend or without capacity.
	Refused float64
}

// Usable reports whether a backend may get requests in the simulation of its group.
func Usable(b *farm.Backend, is *Backend) bool {
	return b.Maintenance == farm.MaintenanceOff && b.Addr.IsValid() && !is.Out && !is.Down
}

// emptyTable is a health table without failures: Out excludes unusable members instead.
var emptyTable = func() *health.Table {
	t, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		panic(err) // zeroed memory of that size is valid
	}
	return t
}()

// stage is the state of a simulation.
type stage struct {
	group  farm.Group
	of     []Backend
	loads  []balance.Load
	picker *balance.Picker
	rand   *rand.Rand
	scale  float64
	total  float64 // sum of rates
	hashes [][]uint64
	now    float64
	ends   ends
	taken  []int
	none   int
}

// Play simulates a group whose backends have the states in of, in the same order. The
// same seed gives the same outcome, except for algorithms that draw at random.
func Play(g farm.Group, of []Backend, seed uint64) Outcome {
	s := &stage{group: g, of: of, scale: 1, rand: rand.New(rand.NewPCG(seed, 0)), taken: make([]int, len(of))}
	under := 0.0
	for i := range of {
		s.total += of[i].Rate
		under += of[i].Rate * of[i].Time
	}
	out := Outcome{Rates: make([]float64, len(of))}
	if s.total <= 0 {
		return out
	}
	s.scale = min(1, atOnce/under)
	s.loads = make([]balance.Load, len(of))
	s.picker = s.pickerOf(s.loads, func(i int) bool { return !Usable(&g.Backends()[i], &of[i]) })
	for i := range of { // latencies are known before the first response
		s.loads[i].Observe(int64(of[i].Time * float64(time.Second)))
	}
	if s.picker.Algorithm() == balance.ConsistentHash {
		s.findHashes()
	}
	requests := max(leastPlayed, min(max(perBackend*len(of), int(turnovers*min(under, atOnce))), mostCompared/len(of)))
	s.play(requests/5, false)
	s.play(requests, true)
	for i, n := range s.taken {
		out.Rates[i] = s.total * float64(n) / float64(requests)
	}
	out.Refused = s.total * float64(s.none) / float64(requests)
	return out
}

// pickerOf returns the picker of the engine, without slow start, because the result is
// the final state.
func (s *stage) pickerOf(loads []balance.Load, out func(i int) bool) *balance.Picker {
	list := s.group.Backends()
	members := make([]balance.Member, len(list))
	for i := range list {
		b := &list[i]
		limit := int64(b.ConnLimit)
		if limit > 0 {
			limit = max(1, int64(float64(limit)*s.scale+0.5))
		}
		members[i] = balance.Member{ID: b.ID, Weight: b.EffectiveWeight(), Priority: b.EffectivePriority(), Limit: limit, Out: out(i), Slot: new(health.Slot), Load: &loads[i]}
	}
	return balance.NewOf(s.group.Choosing(), members, emptyTable, new(balance.State))
}

// findHashes finds clients that the hash currently maps to removed backends.
func (s *stage) findHashes() {
	list := s.group.Backends()
	before := s.pickerOf(make([]balance.Load, len(list)), func(i int) bool {
		is := s.of[i]
		is.Out = false
		return !Usable(&list[i], &is)
	})
	s.hashes = make([][]uint64, len(list))
	for range hashesTried {
		hash := s.rand.Uint64()
		if i, ok := before.Pick(hash, balance.Tried{}); ok && s.of[i].Out && len(s.hashes[i]) < hashesKept {
			s.hashes[i] = append(s.hashes[i], hash)
		}
	}
}

// play simulates requests.
func (s *stage) play(requests int, counted bool) {
	var sums []float64
	sum := 0.0
	for i := range s.of {
		sum += s.of[i].Rate
		sums = append(sums, sum)
	}
	for range requests {
		s.now += s.rand.ExpFloat64() / (s.total * s.scale)
		for len(s.ends) > 0 && s.ends[0].at <= s.now {
			s.end(heap.Pop(&s.ends).(end).of)
		}
		from, _ := slices.BinarySearch(sums, s.rand.Float64()*sum)
		i, ok := s.choose(min(from, len(sums)-1))
		switch {
		case ok:
			s.begin(i)
			if counted {
				s.taken[i]++
			}
		case counted:
			s.none++
		}
	}
}

// choose returns the backend for a request of a client that currently uses the one at
// from.
func (s *stage) choose(from int) (int, bool) {
	b := &s.group.Backends()[from]
	hashed := s.hashes != nil
	if (hashed || s.group.KeepsSessions()) && Usable(b, &s.of[from]) {
		if s.picker.Claim(from) {
			return from, true
		}
	}
	hash := s.rand.Uint64()
	if hashed && len(s.hashes[from]) > 0 {
		hash = s.hashes[from][hash%uint64(len(s.hashes[from]))]
	}
	return s.picker.Pick(hash, balance.Tried{})
}

func (s *stage) begin(i int) {
	s.loads[i].Pending.Add(1)
	heap.Push(&s.ends, end{s.now + s.of[i].Time*s.rand.ExpFloat64(), i})
}

func (s *stage) end(i int) {
	s.loads[i].Pending.Add(-1)
	s.loads[i].Observe(int64(s.of[i].Time * float64(time.Second)))
	s.picker.Held(i).Done()
}

// end is the end of a request: its time and backend.
type end struct {
	at float64
	of int
}

// ends is a heap, the earliest first.
type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, k int) bool { return e[i].at < e[k].at }
func (e ends) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }

// Push implements heap.Interface.
func (e *ends) Push(x any) { *e = append(*e, x.(end)) }

// Pop removes the last element.
func (e *ends) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}
