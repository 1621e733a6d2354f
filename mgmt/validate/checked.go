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
	warnings map[farm.Farm][]Error
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
	known := func(f *farm.Farm) bool { _, is := before.warnings[*f]; return is }
	for err := range rules.walk(cfg, local, known) {
		return nil, &err
	}
	now := &verdict{local, make(map[farm.Farm][]Error, len(cfg.Farms))}
	out := rules.warnings(cfg, func(f *farm.Farm) []Error {
		list, is := before.warnings[*f]
		if !is {
			list = farmWarnings(f, local)
		}
		now.warnings[*f] = list
		return list
	})
	c.last.Store(now)
	return out, nil
}
