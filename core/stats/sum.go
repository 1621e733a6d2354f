package stats

import "github.com/sluicelb/sluice/core/farm"

// SumFarm returns the counters of a farm over all shards. It reads one page per shard
// that was ever in use. It may be called in any goroutine of any process.
func (s *Segment) SumFarm(id uint32) Farm {
	var sum Farm
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].Farm(id).words())
	}
	clamp(sum.gauges())
	return sum
}

// SumBackend returns the counters of a backend over all shards, like SumFarm.
func (s *Segment) SumBackend(id uint32) Backend {
	var sum Backend
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].Backend(id).words())
	}
	clamp(sum.gauges())
	return sum
}

// SumLoops returns the counters of each loop of the current engine, in order. It may be
// called in any goroutine of any process.
func (s *Segment) SumLoops() []Loop {
	out := make([]Loop, s.Loops())
	for i := range out {
		add(out[i].words(), s.mem.shards[i].loop.words())
	}
	return out
}

// SumRejections returns the rejections of a farm by class over all shards, like
// SumFarm.
func (s *Segment) SumRejections(id uint32) Rejections {
	var sum Rejections
	for i := range s.inUse() {
		add(sum[:], s.mem.shards[i].Rejections(id)[:])
	}
	return sum
}

// SumFarmTimes returns the durations of the exchanges of a farm over all shards, like
// SumFarm.
func (s *Segment) SumFarmTimes(id uint32) Times {
	var sum Times
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].FarmTimes(id).words())
	}
	return sum
}

// SumBackendTimes returns the durations of the exchanges of a backend over all shards.
func (s *Segment) SumBackendTimes(id uint32) Times {
	var sum Times
	for i := range s.inUse() {
		add(sum.words(), s.mem.shards[i].BackendTimes(id).words())
	}
	return sum
}

// AdoptFarm assigns the counters of a farm ID to owner, a number that is unique over
// all farms ever created. Counters of a different owner are zeroed. If a previous
// engine wrote them for the same owner, only gauges are zeroed. The engine calls
// AdoptFarm for every farm of a configuration before its loops use it.
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
	previousEngine          // same owner, new engine
	another                 // another owner, or none
)

// adopt sets the owner and returns how it relates to the previous one.
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
