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

// fieldOf maps the health check fields before 3.2 to the current ones.
var fieldOf = map[string]string{"fgscript": "command", "fgtimecheck": "interval", "fglog": "log"}

// noGuardian returns the fields of a farm or service without a health check.
func noGuardian() map[string]any {
	return map[string]any{"fgenabled": "false", "fgtimecheck": 5, "fgscript": "", "fglog": "false"}
}

// inline returns the health check fields of the farm in the path, or of one of its
// services, as before 3.2. They come from the linked check, or else from the stored one, as
// far as the caller may see it.
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

// seen returns the settings of a check under their old names, or the defaults without a
// check. It returns nil if the caller may not see the check.
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

// sourceOf names the check whose fields a group shows: the linked one, else its stored one,
// else "".
func sourceOf(cfg *farm.Config, g farm.Group) string {
	if linked := g.CheckedBy(); linked != "" {
		return linked
	}
	if own := ownCheck(cfg, g); farm.CheckAt(cfg.Checks, own) >= 0 {
		return own
	}
	return ""
}

// ownCheck names the check that stores the inline fields of a group. It is the first of the
// group's candidate names that no other group uses; after a farm is renamed, others may use
// one.
func ownCheck(cfg *farm.Config, g farm.Group) string {
	for n := 1; ; n++ {
		name := inline.Name(g, n)
		if !slices.ContainsFunc(cfg.CheckUsers(name), func(user farm.Group) bool { return !same(user, g) }) {
			return name
		}
	}
}

func same(a, b farm.Group) bool { return a.Farm.Name == b.Farm.Name && a.Name() == b.Name() }

// differing returns the settings in asked that differ from seen, or all of them if seen is
// empty.
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

// alike reports whether two values of a check field are equivalent. A command may be sent
// back with its password as shown.
func (c *call) alike(field, a, b string) bool {
	return a == b || field == "command" && c.sameCommand(a, b)
}
