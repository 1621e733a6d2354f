package checks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// CheckView describes a health check.
type CheckView = rest.View[aboutCheck]

type aboutCheck struct {
	Name     string   `json:"name"`
	Farms    []string `json:"farms" doc:"Farms that use the check, and services as FARM_SERVICE"`
	Template string   `json:"template" enum:"true,false" doc:"true for a built-in check, whose command and description cannot be changed"`
}

func (aboutCheck) Table() (string, []field.Answered) {
	return "CheckView", check.Answer.Answers()
}

// view shows a check to the caller. It masks passwords in the command unless the caller may
// change and use the check, and lists only farms the caller sees.
func view(c *rest.Call, found *farm.Check) CheckView {
	fields := check.Answer.Answer(found)
	if !c.By.Who.May(rbac.FarmguardianModify) || !c.MayUseCheck(c.Config, found.Name) {
		fields["command"] = probe.Masked(found.Command)
	}
	_, template := check.Template(found.Name)
	return CheckView{Fields: fields, About: aboutCheck{Name: found.Name, Farms: usedBy(c, found.Name), Template: strconv.FormatBool(template)}}
}

// usedBy names the groups that use a check, among the farms the caller sees.
func usedBy(c *rest.Call, name string) []string {
	out := []string{}
	for _, g := range c.Config.CheckUsers(name) {
		if _, err := c.Visible(g.Farm.Name); err != nil {
			continue
		}
		if g.OfService() {
			out = append(out, g.Farm.Name+"_"+g.Name())
		} else {
			out = append(out, g.Farm.Name)
		}
	}
	return out
}

// named finds the check in the path.
func named(c *rest.Call) (farm.Check, error) { return find(c.Config, c.Param("check")) }

func find(cfg *farm.Config, name string) (farm.Check, error) {
	if found, is := check.Named(cfg, name); is {
		return found, nil
	}
	return farm.Check{}, rest.NotFound("the health check %s does not exist", rest.Quote(name))
}

func (s *Resource) list(c *rest.Call) (rest.List[CheckView], error) {
	checks := slices.DeleteFunc(check.All(c.Config), func(found farm.Check) bool { return !c.SeesCheck(c.Config, found.Name) })
	return rest.ListOf(c.Summary(), len(checks), func(i int) CheckView { return view(c, &checks[i]) }), nil
}

func (s *Resource) get(c *rest.Call) (rest.Object[CheckView], error) {
	found, err := named(c)
	if err == nil && !c.SeesCheck(c.Config, found.Name) {
		err = c.UseCheck(found.Name)
	}
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return rest.Object[CheckView]{Description: "Get the health check " + found.Name, Params: view(c, &found)}, nil
}

func (s *Resource) create(c *rest.Call) (rest.Object[CheckView], error) {
	values, err := rest.Decode(c, &check.Create)
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	name, from := values.Get("name").Text(), values.Get("copy_from").Text()
	if err := c.UseCheck(from); err != nil {
		return rest.Object[CheckView]{}, err
	}
	_, err = c.Change("create health check "+name, func(cfg *farm.Config) error {
		var created farm.Check
		if from != "" {
			if created, err = find(cfg, from); err != nil {
				return err
			}
		}
		if _, err := find(cfg, name); err == nil {
			return rest.BadRequest("name: a health check named %s exists already", name)
		}
		if err := values.Apply(&created); err != nil {
			return err
		}
		cfg.Checks = append(cfg.Checks, created)
		return nil
	})
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return s.answer(c, name, "New health check "+name, fmt.Sprintf("The health check %s has been created.", name))
}

// answer builds the response after a change.
func (s *Resource) answer(c *rest.Call, name, description, message string) (rest.Object[CheckView], error) {
	found, err := find(c.Config, name)
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return rest.Object[CheckView]{Description: description, Params: view(c, &found), Message: message, Warning: c.Warning(check.Path(name))}, nil
}

func (s *Resource) modify(c *rest.Call) (rest.Object[CheckView], error) {
	found, err := named(c)
	if err == nil {
		err = mayChange(c, found.Name)
	}
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	values, err := rest.Decode(c, &check.Update)
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	_, err = c.Change("modify health check "+found.Name, func(cfg *farm.Config) error {
		before, err := find(cfg, found.Name)
		if err != nil {
			return err
		}
		to := kept(cfg, found.Name)
		if err := values.Apply(to); err != nil {
			return err
		}
		after, _ := check.Named(cfg, found.Name)
		asksAnew := !s.deps.SameCommand(after.Command, before.Command) || after.BackendAlias != before.BackendAlias
		if asksAnew && !values.Get("force").Bool() && len(cfg.CheckUsers(found.Name)) > 0 {
			return rest.BadRequest("the health check %s is in use: command and backend_alias change with force true, and its backends are asked anew", found.Name)
		}
		return nil
	})
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return s.answer(c, found.Name, "Modify the health check "+found.Name, fmt.Sprintf("Some parameters have been changed in the health check %s.", found.Name))
}

// kept returns the check in cfg. If it is an unmodified template, kept first adds an empty
// override of it.
func kept(cfg *farm.Config, name string) *farm.Check {
	at := farm.CheckAt(cfg.Checks, name)
	if at < 0 {
		t, _ := check.Template(name)
		t.Command, t.Description = "", ""
		at, cfg.Checks = len(cfg.Checks), append(cfg.Checks, t)
	}
	return &cfg.Checks[at]
}

// mayChange refuses changes to a check used by farms that the caller does not see.
func mayChange(c *rest.Call, name string) error {
	return c.Require(func() error {
		if len(usedBy(c, name)) < len(c.Config.CheckUsers(name)) { // applies to templates, too
			return rest.NotOfAll()
		}
		return nil
	})
}

func (s *Resource) remove(c *rest.Call) (rest.Done, error) {
	found, err := named(c)
	if err == nil {
		err = mayChange(c, found.Name)
	}
	if err != nil {
		return rest.Done{}, err
	}
	_, template := check.Template(found.Name)
	if template && farm.CheckAt(c.Config.Checks, found.Name) < 0 {
		return rest.Done{}, rest.BadRequest("the health check %s is a template, which every appliance has", found.Name)
	}
	_, err = c.Change("delete health check "+found.Name, func(cfg *farm.Config) error {
		if users := usedBy(c, found.Name); len(cfg.CheckUsers(found.Name)) > 0 && !template {
			return rest.BadRequest("the health check %s is in use: unlink it first from %s", found.Name, strings.Join(users, ", "))
		}
		cfg.Checks = slices.DeleteFunc(cfg.Checks, func(of farm.Check) bool { return of.Name == found.Name })
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	if template {
		return rest.NewDone("Delete the health check "+found.Name, fmt.Sprintf("The template %s is as it came.", found.Name)), nil
	}
	return rest.NewDone("Delete the health check "+found.Name, fmt.Sprintf("The health check %s has been deleted.", found.Name)), nil
}
