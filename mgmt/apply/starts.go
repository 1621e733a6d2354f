package apply

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// A start that is refused leaves the farm as it was: stopped, without a
// problem. Who asked for it is told why; who looks later at a farm that is down
// would not know. So the reason is remembered until the farm starts, gets
// another address or is gone. It is not stored: what refused a start may have
// ended with the process that was asked.

// refusedStart is why a farm could not be started, and the address it had.
type refusedStart struct {
	addr   string
	reason string
}

func address(f *farm.Farm) string { return f.VIP.String() + " " + f.PortsText() }

// RefusedStarts returns why the last start of farms that are stopped was
// refused, by farm ID. It never waits.
func (a *Applier) RefusedStarts() map[uint32]string {
	reasons := map[uint32]string{}
	for id, r := range *a.refused.Load() {
		reasons[id] = r.reason
	}
	return reasons
}

// starts are the stopped farms a change would start.
type starts struct {
	ids []uint32
	// alone: the change is the start of one farm and nothing else, so whatever
	// stands in its way stands in the way of the start.
	alone bool
}

func startsOf(old, cfg *farm.Config) starts {
	stopped := map[uint32]bool{}
	for _, i := range unshared(cfg, old) {
		stopped[old.Farms[i].ID] = old.Farms[i].Stopped
	}
	var s starts
	last := 0
	for _, i := range unshared(old, cfg) {
		if f := &cfg.Farms[i]; !f.Stopped && stopped[f.ID] {
			s.ids = append(s.ids, f.ID)
			last = i
		}
	}
	if len(s.ids) == 1 {
		without := *cfg
		without.Farms = slices.Clone(cfg.Farms)
		without.Farms[last].Stopped = true
		s.alone = reflect.DeepEqual(&without, old)
	}
	return s
}

// reason says why the farm was not started; empty when it was not tried, or
// something else was the cause.
func (s starts) reason(id uint32, err error) string {
	if err == nil || !slices.Contains(s.ids, id) {
		return ""
	}
	var refused *Refused
	if errors.As(err, &refused) && refused.Farms[id] != "" {
		return refused.Farms[id]
	}
	if s.alone {
		return err.Error()
	}
	return ""
}

// remember notes what became of the starts of a change and forgets what no
// longer matters. The turn to write is the caller's.
func (a *Applier) remember(tried starts, err error) {
	known, kept := *a.refused.Load(), map[uint32]refusedStart{}
	cfg := a.now.Load().cfg
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if !f.Stopped {
			continue
		}
		if reason := tried.reason(f.ID, err); reason != "" {
			kept[f.ID] = refusedStart{address(f), reason}
		} else if was, ok := known[f.ID]; ok && was.addr == address(f) {
			kept[f.ID] = was
		}
	}
	if !maps.Equal(kept, *a.refused.Load()) { // otherwise the Standing is the same
		a.refused.Store(&kept)
	}
}
