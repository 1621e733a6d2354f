package store

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// keyframeEvery is the interval of revisions with the whole configuration. A smaller one costs
// space, a larger one costs time to read an old revision.
const keyframeEvery = 128

// entry is one revision as stored on disk (packed.go).
type entry struct {
	Revision
	Change change `json:"change"`
}

// change turns one configuration into the next.
type change struct {
	// Whole means that Farms is the complete configuration.
	Whole bool `json:"whole,omitempty"`
	// Farms holds the new and the changed farms.
	Farms []farm.Farm `json:"farms,omitempty"`
	// Order holds the farm IDs in their new order, valid only if Reordered.
	Order     []uint32 `json:"order,omitempty"`
	Reordered bool     `json:"reordered,omitempty"`
	// System holds the settings of the machine if they changed or Whole is set.
	System *farm.System `json:"system,omitempty"`
	// Checks holds all checks if one changed or Whole is set.
	Checks *[]farm.Check `json:"checks,omitempty"`

	// edits create the records of zones that Farms omits, by farm ID. On disk they are separate
	// items.
	edits map[uint32][]zoneEdit
}

// snapshot is the newest revision with the whole configuration.
type snapshot struct {
	Revision
	Config *farm.Config
}

// entry returns the snapshot as stored on disk.
func (s *snapshot) entry() *entry { return &entry{s.Revision, whole(s.Config)} }

// changeBetween returns the change from old to new. Farms must have unique IDs.
func changeBetween(old, new *farm.Config) change {
	steps := compare(old, new)
	for i := range steps.changed {
		steps.changed[i].zones = nil
	}
	return steps.change()
}

// change returns the change that the comparison found.
func (steps *comparison) change() change {
	old, new := steps.old, steps.new
	c := change{Reordered: len(old.Farms) != len(new.Farms)}
	for i := range steps.changed {
		step := &steps.changed[i]
		if step.equal {
			continue
		}
		var was *farm.Farm
		if step.was >= 0 {
			was = &old.Farms[step.was]
		}
		c.put(&new.Farms[step.at], was, step.zones)
	}
	for i := 0; i < len(new.Farms) && !c.Reordered; i++ {
		c.Reordered = old.Farms[i].ID != new.Farms[i].ID
	}
	if c.Reordered {
		for i := range new.Farms {
			c.Order = append(c.Order, new.Farms[i].ID)
		}
	}
	if !reflect.DeepEqual(old.System, new.System) {
		c.System = &new.System
	}
	if !slices.Equal(old.Checks, new.Checks) {
		c.Checks = saidChecks(new)
	}
	return c
}

// whole returns the change that turns any configuration into cfg.
func whole(cfg *farm.Config) change {
	return change{Whole: true, Farms: cfg.Farms, System: &cfg.System, Checks: saidChecks(cfg)}
}

// saidChecks returns the checks for a change. An empty configuration gives an empty list, since
// nil means that the checks stay unchanged.
func saidChecks(cfg *farm.Config) *[]farm.Check {
	checks := cfg.Checks
	if checks == nil {
		checks = []farm.Check{}
	}
	return &checks
}

// applyTo returns the configuration after the change. old is not modified, but shares the
// unchanged farms.
func (c *change) applyTo(old *farm.Config) (*farm.Config, error) { return c.apply(old, false) }

// apply implements applyTo; inPlace permits it to modify records of old that nobody else uses.
func (c *change) apply(old *farm.Config, inPlace bool) (*farm.Config, error) {
	system := old.System
	switch {
	case c.System != nil:
		system = *c.System
	case c.Whole:
		system = farm.System{} // written before these settings existed
	}
	checks := old.Checks
	switch {
	case c.Checks != nil && len(*c.Checks) > 0:
		checks = *c.Checks
	case c.Checks != nil, c.Whole:
		checks = nil
	}
	out := &farm.Config{System: system, Checks: checks}
	if c.Whole {
		if len(c.edits) > 0 {
			return nil, errEdit
		}
		out.Farms = c.Farms
		return out, nil
	}
	changed := make(map[uint32]*farm.Farm, len(c.Farms))
	for i := range c.Farms {
		changed[c.Farms[i].ID] = &c.Farms[i]
	}
	add := func(id uint32, before *farm.Farm) error {
		f := changed[id]
		if f == nil {
			f = before
		} else if len(c.edits) > 0 {
			var err error
			if f, err = c.edited(f, before, inPlace); err != nil {
				return err
			}
		}
		if f == nil {
			return fmt.Errorf("the change names farm %d, which no revision before it has", id)
		}
		out.Farms = append(out.Farms, *f)
		return nil
	}
	if !c.Reordered {
		out.Farms = make([]farm.Farm, 0, len(old.Farms))
		for i := range old.Farms {
			if err := add(old.Farms[i].ID, &old.Farms[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	for _, id := range c.Order {
		if err := add(id, before[id]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// records are the records of a bucket, by key.
type records interface{ Get(key []byte) []byte }

// read returns the configuration of a revision. It goes back to the last whole one and applies
// the changes since then.
func read(revisions records, number uint64) (*farm.Config, Revision, error) {
	var chain []entry
	for n := number; ; n-- {
		value := revisions.Get(numberKey(n))
		if value == nil {
			return nil, Revision{}, fmt.Errorf("revision %d: %w", n, ErrNotFound)
		}
		var e entry
		if err := unsealRevision(value, &e); err != nil {
			return nil, Revision{}, fmt.Errorf("revision %d: %w", n, err)
		}
		chain = append(chain, e)
		if e.Change.Whole {
			break
		}
	}
	cfg := &farm.Config{}
	for i := len(chain) - 1; i >= 0; i-- {
		var err error
		if cfg, err = chain[i].Change.apply(cfg, true); err != nil {
			return nil, Revision{}, fmt.Errorf("revision %d: %w", chain[i].Number, err)
		}
	}
	return cfg, chain[0].Revision, nil
}
