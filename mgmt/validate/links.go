package validate

import (
	"cmp"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/suggest"
)

var serviceCheck = field.Field[farm.Service]{Rule: check.LinkRule,
	Get: func(s *farm.Service) field.Value { return field.TextValue(s.Check) },
	Set: func(s *farm.Service, v field.Value) { s.Check = v.Text() },
}

var l4Check = field.Field[farm.Farm]{Rule: check.LinkRule,
	Get: func(f *farm.Farm) field.Value { return field.TextValue(l4Seen(f).Check) },
	Set: func(f *farm.Farm, v field.Value) { l4Of(f).Check = v.Text() },
}

// LinkPath returns the Path of errors about the check of a group.
func LinkPath(g farm.Group) string {
	if g.OfService() {
		return ServicePath(g.Farm.Name, g.Name())
	}
	return FarmPath(g.Farm.Name)
}

// checkLinks checks that the health checks of groups exist.
func checkLinks(cfg *farm.Config, yield func(field.Error) bool) bool {
	known := make(map[string]bool, len(cfg.Checks))
	for i := range cfg.Checks {
		known[cfg.Checks[i].Name] = true
	}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			name := g.CheckedBy()
			if name == "" || known[name] {
				continue
			}
			if _, is := check.Template(name); is {
				continue
			}
			if !yield(field.Error{Path: LinkPath(g), Field: check.LinkRule.Name, Message: fmt.Sprintf("%s: there is no check %s%s", check.LinkRule.Name, field.Show(name), cmp.Or(suggest.Near(name, checkNames(cfg)), "; sluice check list shows them"))}) {
				return false
			}
		}
	}
	return true
}

func checkNames(cfg *farm.Config) (out []string) {
	for _, c := range check.All(cfg) {
		out = append(out, c.Name)
	}
	return out
}

// checkWarnings adds warnings about linked checks that cannot find anything.
func checkWarnings(cfg *farm.Config, add func(field.Error)) {
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			if c, is := check.Named(cfg, g.CheckedBy()); is && c.Command == "" {
				add(field.Error{Path: LinkPath(g), Field: check.LinkRule.Name, Message: fmt.Sprintf("the check %s has no command: nobody is asked", c.Name)})
			}
			if f := &cfg.Farms[i]; f.InKernel() && g.CheckedBy() == "" {
				add(field.Error{Path: LinkPath(g), Field: check.LinkRule.Name, Message: "no health check: the kernel, which carries the farm, does not notice failures, and a backend that is down keeps getting clients; link a check"})
			}
		}
	}
}
