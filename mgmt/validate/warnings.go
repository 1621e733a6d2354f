package validate

import (
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
)

// Warnings is Rules{}.Warnings: all that need no knowledge of this machine.
func Warnings(cfg *farm.Config) []Error { return Rules{}.Warnings(cfg) }

// Warnings returns what is allowed but cannot do what it says: backends whose
// priority can never be reached, directives that what carries the farm does
// not know. There is one for each thing, in document order.
func (r Rules) Warnings(cfg *farm.Config) []Error {
	var out []Error
	var local []netip.Prefix
	if r.Prefixes != nil {
		local = r.Prefixes()
	}
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		// Paths are made for what is warned of only: there may be many backends.
		at := func(path func() string) func(field, text string) {
			return func(field, text string) {
				if text != "" {
					out = append(out, Error{path(), field, text})
				}
			}
		}
		add := at(func() string { return FarmPath(f.Name) })
		add("vport", r.ownWarning(f))
		if f.L4 != nil {
			l4Warnings(f, add)
		}
		for j, g := range f.Groups() {
			if g.Service != nil {
				add := at(func() string { return ServicePath(f.Name, g.Name()) })
				add("split", splitWarning(f.HTTP.Services, j))
				stickyWarnings(g.Service, add)
			}
			for k := range g.Backends() {
				add := at(func() string { return PathOfBackend(g, k) })
				if f.L4 != nil {
					l4BackendWarnings(f, &g.Backends()[k], local, add)
				}
				add("priority", GroupPriorityWarning(g, k))
			}
		}
	}
	answerWarnings(cfg, func(f *farm.Farm, field, text string) {
		out = append(out, Error{FarmPath(f.Name), field, text})
	})
	return out
}

// GroupPriorityWarning is PriorityWarning for a backend of any group. Those of
// l4xnat farms have a rule of their own, by which the level can pass over a
// priority.
func GroupPriorityWarning(g farm.Group, i int) string {
	if g.Service != nil {
		return PriorityWarning(g.Service, i)
	}
	return l4PriorityWarning(g.Backends(), i)
}
