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
	// Requests that are played: enough for an error of some percent of a share, and for
	// what is under way to change several times.
	// Where there are thousands of backends, most of which are compared for each request,
	// they are fewer: a play takes seconds at most.
	leastPlayed, perBackend, turnovers = 20_000, 50, 8
	mostCompared                       = 40_000_000
	// atOnce bounds what is under way while playing: beyond it loads and limits are played
	// on a smaller scale.
	atOnce = 4000
	// hashesTried is how many clients are drawn, at most, to find some of those whose
	// backend is taken out.
	hashesTried, hashesKept = 200_000, 2000
)

// Backend is what is known of one backend of a group.
type Backend struct {
	// Out: it is taken out. Down: it cannot be used anyway. Both are besides maintenance,
	// which the configuration has.
	Out, Down bool
	// Rate is how many requests it gets a second now, Time how many seconds each takes
	// with little load, more than 0.
	Rate, Time float64
}

// Outcome is who gets how much, by position in the group.
type Outcome struct {
	Rates []float64
	// Refused is the rate for which there was nobody, or nobody with room.
	Refused float64
}

// Usable reports whether a backend may get requests when its group is played.
func Usable(b *farm.Backend, is *Backend) bool {
	return b.Maintenance == farm.MaintenanceOff && b.Addr.IsValid() && !is.Out && !is.Down
}

// emptyTable says of nobody that it is down: whether members can be used is said by Out.
var emptyTable = func() *health.Table {
	t, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		panic(err) // zeroed memory of that size is one
	}
	return t
}()

// stage is one group while it is played.
type stage struct {
	group  farm.Group
	of     []Backend
	loads  []balance.Load
	picker *balance.Picker
	rand   *rand.Rand
	scale  float64
	total  float64 // of rates
	hashes [][]uint64
	now    float64
	ends   ends
	taken  []int
	none   int
}

// Play plays a group whose backends are as of says, in their order. With the same seed
// it has the same outcome, but for algorithms that draw by chance.
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
	for i := range of { // before anybody answered, what each takes is known
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

// pickerOf makes the picker the engine would, without slow start: who takes over has its
// weight in the end.
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

// findHashes finds clients of each backend that is taken out, as the hash maps them now.
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

// play lets requests come.
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

// choose says who takes a request of a client whose backend is the one at from now.
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

// end is when a request ends, and at whom.
type end struct {
	at float64
	of int
}

// ends is a heap, the next one first.
type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, k int) bool { return e[i].at < e[k].at }
func (e ends) Swap(i, k int)      { e[i], e[k] = e[k], e[i] }

// Push and Pop are heap.Interface.
func (e *ends) Push(x any) { *e = append(*e, x.(end)) }

// Pop takes the last.
func (e *ends) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}
