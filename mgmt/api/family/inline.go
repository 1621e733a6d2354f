package family

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/inline"
)

// fieldOf are the fields of a health check by their names before 3.2.
var fieldOf = map[string]string{"fgscript": "command", "fgtimecheck": "interval", "fglog": "log"}

// noGuardian is what a farm or service shows that has no health check.
func noGuardian() map[string]any {
	return map[string]any{"fgenabled": "false", "fgtimecheck": 5, "fgscript": "", "fglog": "false"}
}

// inline is the health check of the farm of the path, or of a service of it, as it was
// before 3.2: what is linked or else the one that is kept, as far as who asks may see it.
func (c *call) inline(cfg *farm.Config, service string) map[string]any {
	out := noGuardian()
	g, err := rest.FindGroup(cfg, c.at[1], service)
	if err != nil {
		return out
	}
	out["fgenabled"] = strconv.FormatBool(g.CheckedBy() != "")
	maps.Copy(out, c.seen(sourceOf(cfg, g)))
	return out
}

// seen are the settings of a check by their old names, the usual ones without a check;
// nil of one that who asks may not see.
func (c *call) seen(check string) map[string]any {
	if check == "" {
		out := noGuardian()
		delete(out, "fgenabled")
		return out
	}
	body := c.get(Base + "/monitoring/fg/" + check)
	params, _ := body["params"].(map[string]any)
	if params == nil {
		return nil
	}
	out := map[string]any{}
	for old, now := range fieldOf {
		out[old] = params[now]
	}
	return out
}

// sourceOf names the check a group shows as its own fields: the linked one, or else the
// one that is kept for it; empty for none.
func sourceOf(cfg *farm.Config, g farm.Group) string {
	if linked := g.CheckedBy(); linked != "" {
		return linked
	}
	if own := ownCheck(cfg, g); farm.CheckAt(cfg.Checks, own) >= 0 {
		return own
	}
	return ""
}

// ownCheck names the check that keeps the fields of a group: the first of its names that
// nobody else has linked, as after a change of the farm's name.
func ownCheck(cfg *farm.Config, g farm.Group) string {
	for n := 1; ; n++ {
		name := inline.Name(g, n)
		if !slices.ContainsFunc(cfg.CheckUsers(name), func(user farm.Group) bool { return !same(user, g) }) {
			return name
		}
	}
}

func same(a, b farm.Group) bool { return a.Farm.Name == b.Farm.Name && a.Name() == b.Name() }

// differing are the settings that were sent and are not what is seen; all of them when
// nothing is.
func (c *call) differing(asked, seen map[string]any) map[string]any {
	out := map[string]any{}
	for old, now := range fieldOf {
		value, sent := asked[old]
		if sent && !c.alike(now, fmt.Sprint(value), fmt.Sprint(seen[old])) {
			out[now] = value
		}
	}
	return out
}

// alike reports whether two values of a field of a check mean the same: a password of a
// command is shown sealed, and may be sent as it is.
func (c *call) alike(field, a, b string) bool {
	return a == b || field == "command" && c.sameCommand(a, b)
}
