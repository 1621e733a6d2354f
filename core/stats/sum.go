package stats

import "github.com/sluicelb/sluice/core/farm"

// SumFarm returns the counters of a farm over all shards. It touches one page
// per shard that was ever in use. Any goroutine of any process.
func (s *Segment) SumFarm(id uint32) Farm {
	var sum Farm
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].Farm(id).words())
	}
	clamp(sum.gauges())
	return sum
}

// SumBackend returns the counters of a backend over all shards. It touches one
// page per shard that was ever in use. Any goroutine of any process.
func (s *Segment) SumBackend(id uint32) Backend {
	var sum Backend
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].Backend(id).words())
	}
	clamp(sum.gauges())
	return sum
}

// SumLoops returns the counters of each loop of the present engine, in order.
// Any goroutine of any process.
func (s *Segment) SumLoops() []Loop {
	out := make([]Loop, s.Loops())
	for i := range out {
		add(out[i].words(), s.mem.shards[i].loop.words())
	}
	return out
}

// SumRejections returns what a farm refused, by class, over all shards. It
// touches one page per shard that was ever in use. Any goroutine of any process.
func (s *Segment) SumRejections(id uint32) Rejections {
	var sum Rejections
	for i := range s.inUse() {
		add(sum[:], s.mem.shards[i].Rejections(id)[:])
	}
	return sum
}

// SumFarmTimes returns how long the exchanges of a farm took, over all shards.
// It touches one page per shard that was ever in use. Any goroutine of any
// process.
func (s *Segment) SumFarmTimes(id uint32) Times {
	var sum Times
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].FarmTimes(id).words())
	}
	return sum
}

// SumBackendTimes does for a backend what SumFarmTimes does for a farm.
func (s *Segment) SumBackendTimes(id uint32) Times {
	var sum Times
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].BackendTimes(id).words())
	}
	return sum
}

// AdoptFarm gives the counters of a farm ID to owner, a number that no two
// farms ever share. They are zeroed when they belonged to another farm that
// had the same ID earlier; when they belong to the same one but a previous
// engine wrote them, only the gauges are. The engine calls it for every farm
// of a configuration before its loops use that.
func (s *Segment) AdoptFarm(id uint32, owner uint64) {
	switch s.adopt(&s.mem.farms[id&farm.MaxFarmID], owner) {
	case another:
		for i := range s.inUse() {
			sh := &s.mem.shards[i]
			wipe(sh.Farm(id).words())
			wipe(sh.Rejections(id)[:])
			wipe(sh.FarmTimes(id).words())
		}
	case previousEngine:
		for i := range s.inUse() {
			wipeGauges(s.mem.shards[i].Farm(id).gauges())
		}
	}
}

// AdoptBackend does for a backend ID what AdoptFarm does for a farm ID.
func (s *Segment) AdoptBackend(id uint32, owner uint64) {
	switch s.adopt(&s.mem.backends[id&farm.MaxBackendID], owner) {
	case another:
		for i := range s.inUse() {
			sh := &s.mem.shards[i]
			wipe(sh.Backend(id).words())
			wipe(sh.BackendTimes(id).words())
		}
	case previousEngine:
		for i := range s.inUse() {
			wipeGauges(s.mem.shards[i].Backend(id).gauges())
		}
	}
}

type previous int

const (
	same           previous = iota
	previousEngine          // same owner, but the engine is new
	another                 // another owner, or none
)

// adopt writes the owner and tells who had the slot.
func (s *Segment) adopt(o *owner, number uint64) previous {
	epoch := s.mem.epoch.Load()
	oldNumber, oldEpoch := o.number.Swap(number), o.epoch.Swap(epoch)
	switch {
	case oldNumber != number:
		return another
	case oldEpoch != epoch:
		return previousEngine
	}
	return same
}
