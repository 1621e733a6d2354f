package apply

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// A refused start leaves the farm stopped and without a problem. The caller gets the reason,
// but a later reader of the farm's state would not see it. So the reason is kept until the farm
// starts, gets another address or is deleted. A reason that names another farm ends with that
// farm, because it no longer applies, and the name of a deleted farm cannot be masked. The reason is not stored, because the cause may end with the process.

// refusedStart is the reason why a farm could not be started, and its address at that time.
type refusedStart struct {
	addr   string
	reason string
	others string // names of other farms in the reason, separated by blanks
}

func address(f *farm.Farm) string { return f.VIP.String() + " " + f.PortsText() }

// RefusedStarts returns the reasons why the last start of stopped farms was refused, by farm
// ID. It never blocks.
func (a *Applier) RefusedStarts() map[uint32]string {
	reasons := map[uint32]string{}
	for id, r := range *a.refused.Load() {
		reasons[id] = r.reason
	}
	return reasons
}

// starts are the stopped farms that a change starts.
type starts struct {
	ids []uint32
	// alone means that the change is only the start of one farm, so any error is the reason of
	// its refused start.
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

// reason returns why the farm was not started, or "" if that was not the cause of err.
func (s starts) reason(id uint32, err error) string {
	if err == nil || !slices.Contains(s.ids, id) {
		return ""
	}
	var refused *Refused
	if errors.As(err, &refused) && refused.Farms[id] != "" {
		return refused.Farms[id]
	}
	if pending := (*PendingError)(nil); s.alone && errors.As(err, &pending) {
		return pending.Anonymous() // some readers of the reason may not see the author
	}
	if s.alone {
		return err.Error()
	}
	return ""
}

// othersIn returns the names of other farms that a reason names.
func othersIn(cfg *farm.Config, f *farm.Farm, reason string) string {
	var names []string
	for part := range strings.SplitSeq(reason, "farm ") {
		name, _, _ := strings.Cut(strings.TrimPrefix(part, `"`), " ")
		if name = strings.TrimRight(name, `",;:.`); name != f.Name && cfg.Farm(name) != nil {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// exist reports whether all of these farms exist.
func exist(cfg *farm.Config, names string) bool {
	return !slices.ContainsFunc(strings.Fields(names), func(name string) bool { return cfg.Farm(name) == nil })
}

// remember records the refused starts of a change and removes those that no longer apply. The
// caller holds the turn to write.
func (a *Applier) remember(tried starts, err error) {
	known, kept := *a.refused.Load(), map[uint32]refusedStart{}
	cfg := a.now.Load().cfg
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if !f.Stopped {
			continue
		}
		if reason := tried.reason(f.ID, err); reason != "" {
			kept[f.ID] = refusedStart{address(f), reason, othersIn(cfg, f, reason)}
		} else if was, ok := known[f.ID]; ok && was.addr == address(f) && exist(cfg, was.others) {
			kept[f.ID] = was
		}
	}
	if !maps.Equal(kept, *a.refused.Load()) { // otherwise the Standing is the same
		a.refused.Store(&kept)
	}
}
