package headroom

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// question is the body of a rehearsal.
type question struct{}

const (
	// defaultShare is half of a farm, in percent.
	defaultShare = 50
	maxBackends  = 10_000
	// maxGroups bounds the groups of one call. Each takes some hundredths of a second.
	maxGroups = 200
)

// Params lists the fields for OpenAPI.
func (question) Params() []field.Param {
	return []field.Param{
		{Name: "backends", Format: "FARM/SERVICE/ID or FARM/ID", Options: []string{"list", "non_blank"}, Description: "Backends to remove, each given by farm, service and id; for l4xnat farms by farm and id."},
		{Name: "farm", Options: []string{"non_blank"}, Description: "Farm from which a share of the backends of each service is removed, starting with the first."},
		{Name: "share", Interval: "1,100", Options: []string{"non_blank"}, Description: "Percentage of backends to remove, rounded down, at least one backend; defaults to 50. With farm only."},
		{Name: "peak", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Simulate with the peak load of the last day instead of the current load."},
	}
}

// outs holds the positions removed from each group, in the order of the groups.
type outs struct {
	groups []farm.Group
	out    []map[int]bool
}

func (o *outs) add(g farm.Group, positions ...int) {
	at := 0
	for at < len(o.groups) && (o.groups[at].Farm.ID != g.Farm.ID || o.groups[at].ID() != g.ID()) {
		at++
	}
	if at == len(o.groups) {
		o.groups, o.out = append(o.groups, g), append(o.out, map[int]bool{})
	}
	list := g.Backends()
	for _, p := range positions {
		o.out[at][p] = true
		for i := range list { // including those created from its name
			if list[p].Spreads() && list[i].Of == list[p].ID {
				o.out[at][i] = true
			}
		}
	}
}

// asked reads the backends to remove.
func asked(c *rest.Call, body map[string]any) (o outs, err error) {
	share, shared := body["share"]
	name, named := body["farm"]
	if body["backends"] == nil && !named {
		return o, rest.BadRequest("nothing is taken out: send backends, such as [\"shop/web/0\"], or farm")
	}
	if shared && !named {
		return o, rest.BadRequest("share is for farm: say of which farm a share is taken out")
	}
	if body["backends"] != nil {
		list, err := rest.TextList(body, "backends")
		if err != nil {
			return o, err
		}
		if len(list) > maxBackends {
			return o, rest.BadRequest("backends are too many: at most %d are allowed", maxBackends)
		}
		if len(list) == 0 && !named {
			return o, rest.BadRequest("backends: the list is empty, so nothing is taken out")
		}
		for _, text := range list {
			if err := o.addNamed(c, text); err != nil {
				return o, err
			}
		}
	}
	if named {
		text, is := name.(string)
		if !is || text == "" {
			return o, rest.BadRequest("farm must be the name of a farm")
		}
		percent := int64(defaultShare)
		if shared {
			n, _ := share.(json.Number)
			if percent, err = n.Int64(); err != nil || percent < 1 || percent > 100 {
				return o, rest.BadRequest("share must be a whole number from 1 to 100, in percent")
			}
		}
		if err := o.addShare(c, text, int(percent)); err != nil {
			return o, err
		}
	}
	if len(o.groups) > maxGroups {
		return o, rest.BadRequest("too much is taken out at once: backends of %d services, at most %d are allowed", len(o.groups), maxGroups)
	}
	return o, nil
}

// addNamed adds a backend like shop/web/0.
func (o *outs) addNamed(c *rest.Call, text string) error {
	parts := strings.Split(text, "/")
	if len(parts) != 2 && len(parts) != 3 {
		return rest.BadRequest("backends: %s names no backend: write FARM/SERVICE/ID, or FARM/ID of an l4xnat farm", rest.Quote(text))
	}
	if _, err := balances(c, parts[0]); err != nil {
		return err
	}
	service := strings.Join(parts[1:len(parts)-1], "")
	g, err := rest.FindGroup(c.Config, parts[0], service)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(parts[len(parts)-1])
	position := -1
	if err == nil {
		position = g.Position(number)
	}
	if position < 0 {
		return rest.NotFound("the backend %s does not exist in the %s", rest.Quote(parts[len(parts)-1]), g)
	}
	o.add(g, position)
	return nil
}

// balances finds a farm and rejects gslb farms, whose clients connect to the backends
// directly.
func balances(c *rest.Call, name string) (*farm.Farm, error) {
	f, err := c.Visible(name)
	if err == nil && f.Carries() == farm.TrafficQueries {
		err = rest.BadRequest("the farm %s is of profile %s: it names backends to clients, and what these send there is not known", name, f.Profile)
	}
	return f, err
}

// addShare adds the first backends of each group of a farm.
func (o *outs) addShare(c *rest.Call, name string, percent int) error {
	f, err := balances(c, name)
	if err != nil {
		return err
	}
	for _, g := range f.Groups() {
		var all []int
		for i := range g.Backends() {
			if g.Backends()[i].Of == 0 {
				all = append(all, i)
			}
		}
		if len(all) > 0 && !g.Redirects() {
			o.add(g, all[:max(1, len(all)*percent/100)]...)
		}
	}
	if len(o.groups) == 0 {
		return rest.BadRequest("the farm %s has no backends to take out", f.Name)
	}
	return nil
}
