package validate

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
)

// Checked checks successive configurations, of which most farms are unchanged. It
// recognises those by identity (farm.Farm is comparable), so they must never be modified.
// Its results equal those of Rules on the whole configuration. The zero value is empty. Any
// goroutine may call its methods.
type Checked struct {
	Rules Rules
	last  atomic.Pointer[verdict]
}

// verdict holds the results for the farms of a valid configuration.
type verdict struct {
	local    []netip.Prefix // the addresses of this machine, on which some rules depend
	farms    []farm.Farm
	warnings [][]Error // by farm
}

// Config returns the results of Rules.Config and Rules.Warnings. An invalid configuration
// has no warnings.
func (c *Checked) Config(cfg *farm.Config) ([]Error, error) { return c.check(c.Rules, cfg) }

// Unfinished is Config for an unfinished transaction.
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

// zonesOf returns the previous settings of a gslb farm, nil for none.
func (v *verdict) zonesOf(id uint32) *farm.GSLB {
	for i := range v.farms {
		if v.farms[i].ID == id && id != 0 {
			return v.farms[i].Zones()
		}
	}
	return nil
}
