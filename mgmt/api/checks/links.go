package checks

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

func (s *Resource) link(c *rest.Call) (rest.Changed, error) {
	g, err := c.Group()
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &check.Link)
	if err != nil {
		return rest.Changed{}, err
	}
	name, farmName, service := values.Get("name").Text(), g.Farm.Name, g.Name()
	if err := c.UseCheck(name); err != nil {
		return rest.Changed{}, err
	}
	_, err = c.Change(fmt.Sprintf("link health check %s with %s", name, g), func(cfg *farm.Config) error {
		if _, err := find(cfg, name); err != nil {
			return err
		}
		g, err := rest.FindGroup(cfg, farmName, service)
		if err != nil {
			return err
		}
		if has := g.CheckedBy(); has != "" {
			return rest.BadRequest("name: the %s has the health check %s already: unlink it first", g, has)
		}
		*g.CheckedByAt() = name
		return nil
	})
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: fmt.Sprintf("Link a health check with %s", g), Params: values.Sent(), Status: s.deps.State.StatusOf(c, farmName),
		Message: fmt.Sprintf("The health check %s asks the backends of %s.", name, g), Warning: c.Warning(profile.LinkPath(g)),
	}, nil
}

// Unasked returns the function that explains why a check cannot probe a backend (rest.Host).
// explain is for backends that the guardian does not probe at all, and may be nil.
func Unasked(g Guardian, explain func(backend uint32) string) func(backend uint32, check string, since time.Time) (why string, waits bool) {
	return func(backend uint32, check string, since time.Time) (why string, waits bool) {
		const cannot = "cannot be asked: "
		f, is := g.Look(backend)
		switch {
		case !is && explain != nil && strings.HasPrefix(explain(backend), cannot):
			return strings.TrimPrefix(explain(backend), cannot), false
		case !is || f.Farm != "":
			return "", false
		case f.Check != check || len(f.Results) == 0 || f.Results[0].At.Before(since):
			return "", true
		}
		return strings.TrimPrefix(f.Unable(), "not asked: "), false
	}
}

func (s *Resource) unlink(c *rest.Call) (rest.Done, error) {
	g, err := c.Group()
	if err != nil {
		return rest.Done{}, err
	}
	check, err := named(c)
	if err != nil {
		return rest.Done{}, err
	}
	farmName, service := g.Farm.Name, g.Name()
	_, err = c.Change(fmt.Sprintf("unlink health check %s from %s", check.Name, g), func(cfg *farm.Config) error {
		g, err := rest.FindGroup(cfg, farmName, service)
		if err != nil {
			return err
		}
		if g.CheckedBy() != check.Name {
			return rest.BadRequest("the health check %s is not linked with %s", check.Name, g)
		}
		*g.CheckedByAt() = ""
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Unlink a health check from %s", g), fmt.Sprintf("The health check %s does not ask the backends of %s any more.", check.Name, g)), nil
}
