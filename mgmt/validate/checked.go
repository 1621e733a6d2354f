package validate

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
)

// Checked checks successive configurations that share most farms. It recognises unchanged
// farms by identity (farm.Farm is comparable), so farms must never be modified. It returns
// the same results as Rules for the whole configuration. The zero value is empty. Any
// goroutine may call its methods.
type Checked struct {
	Rules Rules
	last  atomic.Pointer[verdict]
	first sync.Mutex // held by a check until there is a verdict
}

// verdict holds the results for a valid configuration.
type verdict struct {
	local    []netip.Prefix // the addresses of this machine, on which some rules depend
	farms    []farm.Farm
	warnings [][]field.Error // of each of them alone, and of it and the appliance's API
	own      [][]field.Error
	between  []field.Error // warnings about several farms

	whole  bool // it keeps the rules between farms as well
	system farm.System
	checks []farm.Check

	counts   []int // of backends of each farm
	backends int   // of all farms
}

// Config returns the results of Rules.Config and Rules.Warnings. An invalid configuration
// has no warnings.
func (c *Checked) Config(cfg *farm.Config) ([]field.Error, error) { return c.check(c.Rules, cfg) }

// Unfinished is Config for an unfinished transaction.
func (c *Checked) Unfinished(cfg *farm.Config) ([]field.Error, error) {
	rules := c.Rules
	rules.Unfinished = true
	return c.check(rules, cfg)
}

// Resolved checks cfg again after addresses of names were set in it. Only farms with names are
// looked at, and of their zones what differs from the valid ones: the rules of an update must not
// keep the addresses of others.
func (c *Checked) Resolved(cfg *farm.Config, unfinished bool) error {
	before := c.last.Load()
	if before == nil {
		before = &verdict{}
	}
	rules := c.Rules
	rules.Unfinished = unfinished
	for err := range rules.walk(cfg, rules.local(), func(i int) *farm.Farm {
		f := &cfg.Farms[i]
		if !hasNames(f) {
			return nil
		}
		return gslbfarm.WithoutSound(f, before.zonesOf(f.ID))
	}) {
		return &err
	}
	return nil
}

// hasNames reports whether a farm has backends given by name, or addresses of such ones.
func hasNames(f *farm.Farm) bool {
	for _, g := range f.Groups() {
		for k := range g.Backends() {
			if b := &g.Backends()[k]; b.Of != 0 || b.Named() {
				return true
			}
		}
	}
	return false
}

func (c *Checked) check(rules Rules, cfg *farm.Config) ([]field.Error, error) {
	if c.last.Load() == nil { // a second check waits for what the first one finds out
		c.first.Lock()
		defer c.first.Unlock()
	}
	local, before := rules.local(), c.last.Load()
	if before == nil || !slices.Equal(before.local, local) {
		before = &verdict{}
	}
	at := farm.Align(before.farms, cfg.Farms)
	open := func(i int) *farm.Farm {
		if at[i] >= 0 {
			return nil
		}
		return gslbfarm.WithoutSound(&cfg.Farms[i], before.zonesOf(cfg.Farms[i].ID))
	}
	alike := !rules.Unfinished && before.isAlike(cfg, at)
	all := rules.walk(cfg, local, open)
	if alike {
		all = walkFarms(cfg, local, open)
	}
	for err := range all {
		return nil, &err
	}
	now := before.next(cfg)
	if !alike {
		now.about(cfg, rules, local)
	}
	now.farmwise(before, at, local)
	var out []field.Error
	for i := range cfg.Farms {
		out = append(append(out, now.own[i]...), now.warnings[i]...)
	}
	c.last.Store(now)
	return append(out, now.between...), nil
}

// InForce checks the configuration in force, before any other. Its farms count as valid even if
// the rules of an update refuse them: otherwise one of them would block the changes of all
// others, and two bad records of a zone could only be mended together. The rules between farms
// stay.
func (c *Checked) InForce(cfg *farm.Config) {
	if _, err := c.Config(cfg); err == nil {
		return
	}
	local, none := c.Rules.local(), &verdict{}
	now := none.next(cfg)
	now.about(cfg, c.Rules, local)
	now.farmwise(none, slices.Repeat([]int32{-1}, len(cfg.Farms)), local)
	now.whole = false
	c.last.CompareAndSwap(nil, now)
}

// next returns the verdict about a similar configuration, without the warnings of farms.
func (v *verdict) next(cfg *farm.Config) *verdict {
	now := *v
	now.farms, now.warnings, now.counts, now.backends = slices.Clone(cfg.Farms), make([][]field.Error,
		len(cfg.Farms)), make([]int, len(cfg.Farms)), 0
	return &now
}

// about sets the parts of the verdict that similar configurations share.
func (v *verdict) about(cfg *farm.Config, rules Rules, local []netip.Prefix) {
	v.local, v.whole, v.system, v.checks = local, !rules.Unfinished, cfg.System.Clone(), slices.Clone(cfg.Checks)
	v.own = make([][]field.Error, len(cfg.Farms))
	for i := range cfg.Farms {
		v.own[i] = rules.ownWarnings(&cfg.System, &cfg.Farms[i])
	}
	v.between = warningsBetween(cfg)
}

// farmwise sets the warnings and counts of each farm. at holds its position in before, or -1.
func (v *verdict) farmwise(before *verdict, at []int32, local []netip.Prefix) {
	for i := range v.farms {
		if at[i] >= 0 {
			v.warnings[i], v.counts[i] = before.warnings[at[i]], before.counts[at[i]]
		} else {
			v.warnings[i], v.counts[i] = farmWarnings(&v.farms[i], local), countBackends(&v.farms[i])
		}
		v.backends += v.counts[i]
	}
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
