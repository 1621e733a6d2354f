package check

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// templateInterval is the interval of templates, as in Zevenet.
const templateInterval farm.Seconds = 15

// Template returns the built-in check of that name.
func Template(name string) (farm.Check, bool) {
	list := probe.Templates()
	at := slices.IndexFunc(list, func(t probe.Template) bool { return t.Name == name })
	if name == "" || at < 0 {
		return farm.Check{}, false
	}
	return template(&list[at]), true
}

func template(t *probe.Template) farm.Check {
	return farm.Check{Name: t.Name, Description: t.Description, Command: t.Command, CutConns: t.CutConns,
		Interval: templateInterval}
}

// Named returns the check of that name: a configured one or a template. The purpose of
// a template is fixed, but not its interval.
func Named(cfg *farm.Config, name string) (farm.Check, bool) {
	if name == "" { // most groups have no check
		return farm.Check{}, false
	}
	t, is := Template(name)
	at := farm.CheckAt(cfg.Checks, name)
	if at < 0 {
		return t, is
	}
	c := cfg.Checks[at]
	if is {
		c.Command, c.Description = t.Command, t.Description
	}
	return c, true
}

// All returns all checks of a configuration, including templates, sorted by name.
func All(cfg *farm.Config) (out []farm.Check) {
	for i := range cfg.Checks {
		c, _ := Named(cfg, cfg.Checks[i].Name)
		out = append(out, c)
	}
	list := probe.Templates()
	for i := range list {
		if farm.CheckAt(cfg.Checks, list[i].Name) < 0 {
			out = append(out, template(&list[i]))
		}
	}
	slices.SortFunc(out, func(a, b farm.Check) int { return strings.Compare(a.Name, b.Name) })
	return out
}
