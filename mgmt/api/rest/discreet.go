package rest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/document"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// namedFarm matches the names of farms in messages, with the parts of the farm that are
// named before or after it.
var namedFarm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:service "?[\w.-]+"? (?:of|in) )?(?:the )?\bfarms? "?([\w-]+)"?(?: (?:service|zone) "?[\w.@-]+"?)?(?: (?:backend|record|key) \d+)?( does not exist)?`)
})

// Discreet removes the names of farms hidden from the caller from a message. Such farms
// belong to other groups. Messages that a farm does not exist are left unchanged.
func (c *Call) Discreet(text string) string {
	if !strings.Contains(text, "farm") || c.By.Who.Root() {
		return text
	}
	return MaskFarms(text, func(name string) bool {
		f := c.Config.Farm(name)
		return f != nil && !c.mayFarm(f.ID)
	})
}

// MaskFarms removes the names of hidden farms from a message, except from messages that a farm
// does not exist.
func MaskFarms(text string, hidden func(name string) bool) string {
	return namedFarm().ReplaceAllStringFunc(text, func(found string) string {
		m := namedFarm().FindStringSubmatch(found)
		if m[2] != "" || !hidden(m[1]) {
			return found
		}
		return "a farm of another group"
	})
}

// visible returns the part of a configuration that the caller sees. Farms that are not in
// before were made by the caller's change.
func (c *Call) visible(cfg, before *farm.Config) *farm.Config {
	if c.By.Who.Root() || c.SeesAll() {
		return cfg
	}
	out := &farm.Config{}
	for i := range cfg.Farms {
		if f := &cfg.Farms[i]; f.ID == 0 || c.mayFarm(f.ID) || !hasFarm(before, f.ID) {
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

// hasFarm reports whether a configuration has a farm with that stable ID.
func hasFarm(cfg *farm.Config, id uint32) bool {
	return slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return f.ID == id })
}

// DiffOf returns the diff of a change, as far as the caller may see it.
func (c *Call) DiffOf(r apply.Result) string {
	if r.Before == nil || r.Config == nil || r.Unchanged || c.SeesAll() && c.Veil() == (validate.Veil{}) {
		return r.Diff
	}
	v := c.Veil()
	return document.Diff(v.Apply(c.visible(r.Before, r.Before)), v.Apply(c.visible(r.Config, r.Before)))
}

// WarningsOf returns the warnings of a change about objects that the caller sees.
func (c *Call) WarningsOf(r apply.Result) []string {
	out := []string{}
	for _, w := range r.Warnings {
		if c.concerns(w.Path) {
			out = append(out, c.Discreet(w.Error()))
		}
	}
	return out
}

// ProblemsOf returns the farms that are not running after a change, with the reason, as far
// as the caller sees them.
func (c *Call) ProblemsOf(r apply.Result) []string {
	out := []string{}
	farms := c.Farms()
	for i := range farms {
		if problem := r.FarmErrors[farms[i].ID]; problem != "" {
			out = append(out, fmt.Sprintf("farm %s: %s", farms[i].Name, c.Discreet(problem)))
		}
	}
	return out
}

// concerns reports whether a warning is about an object the caller sees.
func (c *Call) concerns(path string) bool {
	switch {
	case c.Discreet(path) != path:
		return false
	case strings.HasPrefix(path, system.Path("")):
		return c.By.Who.May(rbac.SystemMenu)
	}
	for i := range c.Config.Checks {
		if name := c.Config.Checks[i].Name; path == check.Path(name) {
			return c.ListsCheck(c.Config, name)
		}
	}
	return true
}
