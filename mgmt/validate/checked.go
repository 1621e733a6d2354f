package validate

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// Checked checks one configuration after the other, of which most farms are as they
// were: those are known again by where their settings lie (farm.Farm is comparable), and
// nobody may change them any more. What it says is what Rules would say of the whole. The
// zero value knows nothing. Any goroutine may call its methods.
type Checked struct {
	Rules Rules
	last  atomic.Pointer[verdict]
}

// verdict is what was found of the farms of a configuration that keeps the rules.
type verdict struct {
	local    []netip.Prefix // of this machine, which some rules are about
	farms    []farm.Farm
	warnings [][]Error // of each of them
}

// Config returns what Rules.Config and Rules.Warnings do; of a configuration that breaks
// a rule there are no warnings.
func (c *Checked) Config(cfg *farm.Config) ([]Error, error) { return c.check(c.Rules, cfg) }

// Unfinished is Config of a configuration in a transaction.
func (c *Checked) Unfinished(cfg *farm.Config) ([]Error, error) {
	rules := c.Rules
	rules.Unfinished = true
	return c.check(rules, cfg)
}

func (c *Checked) check(rules Rules, cfg *farm.Config) ([]Error, error) {
	local, before := rules.local(), c.last.Load()
	if before == nil || !slices.Equal(before.local, local) {
		before = &verdict{}
	}
	at := farm.Align(before.farms, cfg.Farms)
	open := func(i int) *farm.Farm {
		if at[i] >= 0 {
			return nil
		}
		return withoutSound(&cfg.Farms[i], before.zonesOf(cfg.Farms[i].ID))
	}
	for err := range rules.walk(cfg, local, open) {
		return nil, &err
	}
	now := &verdict{local, slices.Clone(cfg.Farms), make([][]Error, len(cfg.Farms))}
	out := rules.warnings(cfg, func(i int) []Error {
		if at[i] >= 0 {
			now.warnings[i] = before.warnings[at[i]]
		} else {
			now.warnings[i] = farmWarnings(&cfg.Farms[i], local)
		}
		return now.warnings[i]
	})
	c.last.Store(now)
	return out, nil
}

// zonesOf returns the settings a farm with zones had, nil for none.
func (v *verdict) zonesOf(id uint32) *farm.GSLB {
	for i := range v.farms {
		if v.farms[i].ID == id && id != 0 {
			return v.farms[i].Zones()
		}
	}
	return nil
}
