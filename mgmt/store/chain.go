package store

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// keyframeEvery is how often a revision holds the whole configuration. More
// often costs space, more rarely costs time to read an old one.
const keyframeEvery = 32

// entry is one revision as it lies on disk (packed.go).
type entry struct {
	Revision
	Change change `json:"change"`
}

// change turns one configuration into the next.
type change struct {
	// Whole says that Farms is the complete configuration.
	Whole bool `json:"whole,omitempty"`
	// Farms holds the new and the changed farms.
	Farms []farm.Farm `json:"farms,omitempty"`
	// Order holds the farm IDs in their new order, valid only if Reordered.
	Order     []uint32 `json:"order,omitempty"`
	Reordered bool     `json:"reordered,omitempty"`
	// System holds the settings of the machine where they changed, and if Whole.
	System *farm.System `json:"system,omitempty"`
	// Checks holds all of them where one changed, and if Whole.
	Checks *[]farm.Check `json:"checks,omitempty"`
}

// snapshot is the newest revision with the whole configuration.
type snapshot struct {
	Revision
	Config *farm.Config
}

// entry is the snapshot as it lies on disk.
func (s *snapshot) entry() *entry { return &entry{s.Revision, whole(s.Config)} }

// changeBetween finds what turns old into new. Every farm must have an ID of
// its own.
func changeBetween(old, new *farm.Config) change {
	before := make(map[uint32]*farm.Farm, len(old.Farms))
	for i := range old.Farms {
		before[old.Farms[i].ID] = &old.Farms[i]
	}
	c := change{Reordered: len(old.Farms) != len(new.Farms)}
	for i := range new.Farms {
		f := &new.Farms[i]
		if was := before[f.ID]; was == nil || *was != *f && !reflect.DeepEqual(was, f) {
			c.Farms = append(c.Farms, *f)
		}
		c.Reordered = c.Reordered || old.Farms[i].ID != f.ID
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

// whole is the change that turns everything into cfg.
func whole(cfg *farm.Config) change {
	return change{Whole: true, Farms: cfg.Farms, System: &cfg.System, Checks: saidChecks(cfg)}
}

// saidChecks are those of a configuration as a change holds them: none are an empty list,
// since no list at all says that they stay as they are.
func saidChecks(cfg *farm.Config) *[]farm.Check {
	checks := cfg.Checks
	if checks == nil {
		checks = []farm.Check{}
	}
	return &checks
}

// applyTo returns the configuration after the change; old is not touched, but
// shares the farms that did not change.
func (c *change) applyTo(old *farm.Config) (*farm.Config, error) {
	system := old.System
	switch {
	case c.System != nil:
		system = *c.System
	case c.Whole:
		system = farm.System{} // of before there were any
	}
	checks := old.Checks
	switch {
	case c.Checks != nil && len(*c.Checks) > 0:
		checks = *c.Checks
	case c.Checks != nil, c.Whole:
		checks = nil
	}
	if c.Whole {
		return &farm.Config{Farms: c.Farms, System: system, Checks: checks}, nil
	}
	byID := make(map[uint32]*farm.Farm, len(old.Farms)+len(c.Farms))
	order := make([]uint32, 0, len(old.Farms))
	for i := range old.Farms {
		byID[old.Farms[i].ID] = &old.Farms[i]
		order = append(order, old.Farms[i].ID)
	}
	for i := range c.Farms {
		byID[c.Farms[i].ID] = &c.Farms[i]
	}
	if c.Reordered {
		order = c.Order
	}
	out := &farm.Config{System: system, Checks: checks}
	for _, id := range order {
		f := byID[id]
		if f == nil {
			return nil, fmt.Errorf("the change names farm %d, which no revision before it has", id)
		}
		out.Farms = append(out.Farms, *f)
	}
	return out, nil
}

// records are those of a bucket, by key.
type records interface{ Get(key []byte) []byte }

// read rebuilds the configuration of a revision: back to the last whole one,
// then forward change by change.
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
		if cfg, err = chain[i].Change.applyTo(cfg); err != nil {
			return nil, Revision{}, fmt.Errorf("revision %d: %w", chain[i].Number, err)
		}
	}
	return cfg, chain[0].Revision, nil
}
