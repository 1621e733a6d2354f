package checks

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (s *Resource) link(c *rest.Call) (rest.Changed, error) {
	g, err := c.Group()
	if err != nil {
		return rest.Changed{}, err
	}
	values, err := rest.Decode(c, &validate.CheckLink)
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
		Message: fmt.Sprintf("The health check %s asks the backends of %s.", name, g), Warning: c.Warning(validate.LinkPath(g), s.cannotAsk(c, farmName, service)),
	}, nil
}

const (
	// firstProbes bounds the wait for the first results after a check is linked, to report
	// a check that cannot run. firstLook is the polling interval.
	firstProbes = 500 * time.Millisecond
	firstLook   = 20 * time.Millisecond
)

// cannotAsk explains why a newly linked check cannot probe the backends of a group. It
// returns "" if the check can, or if no result arrives within firstProbes.
func (s *Resource) cannotAsk(c *rest.Call, farmName, service string) string {
	if s.deps.Guardian == nil || c.Dry() {
		return ""
	}
	g, err := rest.FindGroup(c.Config, farmName, service)
	if err != nil {
		return ""
	}
	for deadline := time.Now().Add(firstProbes); ; time.Sleep(firstLook) {
		waits := false
		for _, b := range g.Backends() {
			f, is := s.deps.Guardian.Look(b.ID)
			if why := f.Unable(); is && why != "" {
				return fmt.Sprintf("the check cannot ask backend %s: %s", b.ShownAddress(), strings.TrimPrefix(why, "not asked: "))
			}
			waits = waits || is && len(f.Results) == 0
		}
		if !waits || time.Now().After(deadline) || c.Context.Err() != nil {
			return ""
		}
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
