package rest

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// effects are the results of the changes of a call, or of all writes of a transaction.
type effects struct {
	needs []string // permissions
	made  []string // names of new farms
	// unshared explains why the creator's group does not see the new farms, "" if it does.
	unshared string
}

type effectsKey struct{}

// collect adds the permission of the call to those that a change on trial needs.
func (c *Call) collect() {
	if c.effects, _ = c.Context.Value(effectsKey{}).(*effects); c.effects == nil {
		c.effects = &effects{}
	}
	if need := string(c.op.Needs); !slices.Contains(c.effects.needs, need) {
		c.effects.needs = append(c.effects.needs, need)
	}
}

// Makes declares that the next change creates a farm: the caller's group sees it as soon as it
// exists.
func (c *Call) Makes(name string) { c.effects.made = append(c.effects.made, name) }

// Unshared explains why the caller's group does not see the farms that the call made, "" if it
// does. In a transaction, that is known only once the transaction is in force.
func (c *Call) Unshared() string { return c.effects.unshared }

// along implements apply.Along.
func (c *Call) along(cfg *farm.Config, commit func(documents map[string]any) error) error {
	var ids []uint32
	for _, name := range c.effects.made {
		if f := cfg.Farm(name); f != nil {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 || c.host.Share == nil || c.By.Who.Group() == "" || c.By.Who.AllFarms() {
		return commit(nil)
	}
	return c.host.Share(c, ids, commit)
}

// NotShared records why the caller's group does not see the farms that the call made.
func (c *Call) NotShared(why string) { c.effects.unshared = why }

// Renames declares that the next change renames a farm, which this transaction may have made.
func (c *Call) Renames(from, to string) {
	for i, name := range c.effects.made {
		if name == from {
			c.effects.made[i] = to
		}
	}
}
