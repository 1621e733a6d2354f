package validate

import (
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/l4farm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// Warnings is Rules{}.Warnings: all that do not depend on this machine.
func Warnings(cfg *farm.Config) []field.Error { return Rules{}.Warnings(cfg) }

// Warnings returns valid settings that cannot work as configured, e.g. priorities that are
// never reached, or settings that the carrier does not support. There is one per cause, in
// document order.
func (r Rules) Warnings(cfg *farm.Config) []field.Error {
	local := r.local()
	var out []field.Error
	for i := range cfg.Farms {
		out = append(out, r.ownWarnings(&cfg.System, &cfg.Farms[i])...)
		out = append(out, farmWarnings(&cfg.Farms[i], local)...)
	}
	return append(out, warningsBetween(cfg)...)
}

// warningsBetween returns those that depend on several farms, on checks or on the settings of
// the machine.
func warningsBetween(cfg *farm.Config) (out []field.Error) {
	system.Warnings(cfg, func(e field.Error) { out = append(out, e) })
	checkWarnings(cfg, func(e field.Error) { out = append(out, e) })
	gslbfarm.LoadWarnings(cfg, func(e field.Error) { out = append(out, e) })
	l4farm.AnswerWarnings(cfg, func(f *farm.Farm, fieldName, text string) {
		out = append(out, field.Error{Path: profile.FarmPath(f.Name), Field: fieldName, Message: text})
	})
	return out
}

// farmWarnings returns the warnings that depend only on the farm and the addresses of this
// machine.
func farmWarnings(f *farm.Farm, local []netip.Prefix) (out []field.Error) {
	if f.SettingsProfile() == "" {
		return nil // which is an error
	}
	// Paths are built only for actual warnings, as there may be many backends.
	at := func(path func() string) profile.Warn {
		return func(fieldName, text string) {
			if text != "" {
				out = append(out, field.Error{Path: path(), Field: fieldName, Message: text})
			}
		}
	}
	p := profile.Of(f)
	at(func() string { return profile.FarmPath(f.Name) })("vip", profile.VIPWarning(f))
	p.Farm().Document.UnreachableWarnings(f, at(func() string { return profile.FarmPath(f.Name) }))
	p.FarmWarnings(f, at(func() string { return profile.FarmPath(f.Name) }))
	for j, g := range f.Groups() {
		p.GroupWarnings(f, j, at(func() string { return profile.ServicePath(f.Name, g.Name()) }))
		for k := range g.Backends() {
			add := at(func() string { return profile.PathOfBackend(g, k) })
			p.BackendWarnings(g, k, local, add)
			add("priority", GroupPriorityWarning(g, k))
		}
	}
	return out
}

// Concerns reports whether a warning belongs in the response about the object at path. A
// warning about the nattype of a farm also concerns its backends.
func Concerns(e *field.Error, path string) bool {
	return e.Path == "" || e.Path == path || e.Field == "nattype" && strings.HasPrefix(path, e.Path+" ")
}

// GroupPriorityWarning returns a text if the backend at a position can never be used,
// whichever others are unusable. Each profile has its own rule.
func GroupPriorityWarning(g farm.Group, i int) string {
	return profile.Of(g.Farm).PriorityWarning(g, i)
}
