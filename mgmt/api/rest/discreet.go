package rest

import (
	"regexp"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/document"
)

// namedFarm matches the names of farms in messages, with their service.
var namedFarm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:service "?[\w.-]+"? (?:of|in) )?(?:the )?\bfarms? "?([\w-]+)"?( does not exist)?`)
})

// Discreet removes the names of farms hidden from the caller from a message. Such farms
// belong to other groups. Messages that a farm does not exist are left unchanged.
func (c *Call) Discreet(text string) string {
	if c.By.Who.Root() || c.SeesAll() {
		return text
	}
	return namedFarm().ReplaceAllStringFunc(text, func(found string) string {
		m := namedFarm().FindStringSubmatch(found)
		if f := c.Config.Farm(m[1]); f == nil || m[2] != "" || c.mayFarm(f.ID) {
			return found
		}
		return "a farm of another group"
	})
}

// visible returns the part of a configuration that the caller sees. Farms that exist only
// in cfg are the caller's own.
func (c *Call) visible(cfg *farm.Config) *farm.Config {
	if c.By.Who.Root() || c.SeesAll() {
		return cfg
	}
	out := &farm.Config{}
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.ID == 0 || c.mayFarm(f.ID) || !c.known(f.ID) {
			out.Farms = append(out.Farms, *f)
		}
	}
	for i := range cfg.Checks {
		if c.ListsCheck(cfg, cfg.Checks[i].Name) {
			out.Checks = append(out.Checks, cfg.Checks[i])
		}
	}
	return out
}

// known reports whether a farm existed before the call.
func (c *Call) known(id uint32) bool {
	for i := range c.Config.Farms {
		if c.Config.Farms[i].ID == id {
			return true
		}
	}
	return false
}

// difference returns the diff of two configurations, as far as the caller may see them.
func (c *Call) difference(from, to *farm.Config) string {
	v := c.Veil()
	return document.Diff(v.Apply(c.visible(from)), v.Apply(c.visible(to)))
}
