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
		if f.Directives() == "" {
			continue // which is an error
		}
		p := ProfileOf(f)
		// Paths are made for what is warned of only: there may be many backends.
		at := func(path func() string) warn {
			return func(field, text string) {
				if text != "" {
					out = append(out, Error{path(), field, text})
				}
			}
		}
		add := at(func() string { return FarmPath(f.Name) })
		add("vport", r.ownWarning(f))
		p.farmWarnings(f, add)
		for j, g := range f.Groups() {
			p.groupWarnings(f, j, at(func() string { return ServicePath(f.Name, g.Name()) }))
			for k := range g.Backends() {
				add := at(func() string { return PathOfBackend(g, k) })
				p.backendWarnings(g, k, local, add)
				add("priority", GroupPriorityWarning(g, k))
			}
		}
	}
	answerWarnings(cfg, func(f *farm.Farm, field, text string) {
		out = append(out, Error{FarmPath(f.Name), field, text})
	})
	return out
}

// GroupPriorityWarning returns a text when the backend at a position can never be
// used, whichever others are unusable: each profile has a rule of its own for it.
func GroupPriorityWarning(g farm.Group, i int) string { return ProfileOf(g.Farm).priorityWarning(g, i) }
