package rest

import (
	"slices"

	"github.com/sluicelb/sluice/core/farm"
)

// did collects the effects of the changes of a call, or of all writes of a transaction.
type did struct {
	needs []string // permissions
	made  []string // names of new farms
	// unshared explains why the creator's group does not see the new farms, "" if it does.
	unshared string
}

type didKey struct{}

// collect adds the permission of the call to those that a change on trial needs.
func (c *Call) collect() {
	if c.did, _ = c.Context.Value(didKey{}).(*did); c.did == nil {
		c.did = &did{}
	}
	if need := string(c.op.Needs); !slices.Contains(c.did.needs, need) {
		c.did.needs = append(c.did.needs, need)
	}
}

// Makes declares that the next change creates a farm: the caller's group sees it as soon as it
// exists.
func (c *Call) Makes(name string) { c.did.made = append(c.did.made, name) }

// Unshared explains why the caller's group does not see the farms that the call made, "" if it
// does. In a transaction, that is known only once the transaction is in force.
func (c *Call) Unshared() string { return c.did.unshared }

// along implements apply.Along.
func (c *Call) along(cfg *farm.Config, commit func(documents map[string]any) error) error {
	var ids []uint32
	for _, name := range c.did.made {
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
func (c *Call) NotShared(why string) { c.did.unshared = why }

// Renames declares that the next change renames a farm, which this transaction may have made.
func (c *Call) Renames(from, to string) {
	for i, name := range c.did.made {
		if name == from {
			c.did.made[i] = to
		}
	}
}
