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
	"github.com/sluicelb/sluice/mgmt/validate"
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
	return "CheckView", validate.CheckAnswer.Answers()
}

// view shows a check to the caller. It masks passwords in the command unless the caller may
// change and use the check, and lists only farms the caller sees.
func view(c *rest.Call, check *farm.Check) CheckView {
	fields := validate.CheckAnswer.Answer(check)
	if !c.By.Who.May(rbac.FarmguardianModify) || !c.MayUseCheck(c.Config, check.Name) {
		fields["command"] = probe.Masked(check.Command)
	}
	_, template := validate.CheckTemplate(check.Name)
	return CheckView{Fields: fields, About: aboutCheck{Name: check.Name, Farms: usedBy(c, check.Name), Template: strconv.FormatBool(template)}}
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
	if check, is := validate.CheckNamed(cfg, name); is {
		return check, nil
	}
	return farm.Check{}, rest.NotFound("the health check %s does not exist", rest.Quote(name))
}

func (s *Resource) list(c *rest.Call) (rest.List[CheckView], error) {
	checks := slices.DeleteFunc(validate.Checks(c.Config), func(check farm.Check) bool { return !c.SeesCheck(c.Config, check.Name) })
	return rest.ListOf(c.Summary(), len(checks), func(i int) CheckView { return view(c, &checks[i]) }), nil
}

func (s *Resource) get(c *rest.Call) (rest.Object[CheckView], error) {
	check, err := named(c)
	if err == nil && !c.SeesCheck(c.Config, check.Name) {
		err = c.UseCheck(check.Name)
	}
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return rest.Object[CheckView]{Description: "Get the health check " + check.Name, Params: view(c, &check)}, nil
}

func (s *Resource) create(c *rest.Call) (rest.Object[CheckView], error) {
	values, err := rest.Decode(c, &validate.CheckCreate)
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
	check, err := find(c.Config, name)
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return rest.Object[CheckView]{Description: description, Params: view(c, &check), Message: message, Warning: c.Warning(validate.CheckPath(name))}, nil
}

func (s *Resource) modify(c *rest.Call) (rest.Object[CheckView], error) {
	check, err := named(c)
	if err == nil {
		err = mayChange(c, check.Name)
	}
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	values, err := rest.Decode(c, &validate.CheckUpdate)
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	_, err = c.Change("modify health check "+check.Name, func(cfg *farm.Config) error {
		before, err := find(cfg, check.Name)
		if err != nil {
			return err
		}
		to := kept(cfg, check.Name)
		if err := values.Apply(to); err != nil {
			return err
		}
		after, _ := validate.CheckNamed(cfg, check.Name)
		asksAnew := !s.deps.SameCommand(after.Command, before.Command) || after.BackendAlias != before.BackendAlias
		if asksAnew && !values.Get("force").Bool() && len(cfg.CheckUsers(check.Name)) > 0 {
			return rest.BadRequest("the health check %s is in use: command and backend_alias change with force true, and its backends are asked anew", check.Name)
		}
		return nil
	})
	if err != nil {
		return rest.Object[CheckView]{}, err
	}
	return s.answer(c, check.Name, "Modify the health check "+check.Name, fmt.Sprintf("Some parameters have been changed in the health check %s.", check.Name))
}

// kept returns the check in cfg. If it is an unmodified template, kept first adds an empty
// override of it.
func kept(cfg *farm.Config, name string) *farm.Check {
	at := farm.CheckAt(cfg.Checks, name)
	if at < 0 {
		t, _ := validate.CheckTemplate(name)
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
	check, err := named(c)
	if err == nil {
		err = mayChange(c, check.Name)
	}
	if err != nil {
		return rest.Done{}, err
	}
	_, template := validate.CheckTemplate(check.Name)
	if template && farm.CheckAt(c.Config.Checks, check.Name) < 0 {
		return rest.Done{}, rest.BadRequest("the health check %s is a template, which every appliance has", check.Name)
	}
	_, err = c.Change("delete health check "+check.Name, func(cfg *farm.Config) error {
		if users := usedBy(c, check.Name); len(cfg.CheckUsers(check.Name)) > 0 && !template {
			return rest.BadRequest("the health check %s is in use: unlink it first from %s", check.Name, strings.Join(users, ", "))
		}
		cfg.Checks = slices.DeleteFunc(cfg.Checks, func(of farm.Check) bool { return of.Name == check.Name })
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	if template {
		return rest.NewDone("Delete the health check "+check.Name, fmt.Sprintf("The template %s is as it came.", check.Name)), nil
	}
	return rest.NewDone("Delete the health check "+check.Name, fmt.Sprintf("The health check %s has been deleted.", check.Name)), nil
}
