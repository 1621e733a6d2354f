package api

import (
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// ActionDone is the answer to an action on a farm.
type ActionDone struct {
	Action string      `json:"action"`
	Status farm.Status `json:"status"`
}

func (s *Server) actOnFarm(c *call) (Object[ActionDone], error) {
	f, err := c.farm()
	if err != nil {
		return Object[ActionDone]{}, err
	}
	values, err := decode(c, &validate.FarmAction)
	if err != nil {
		return Object[ActionDone]{}, err
	}
	name, action := f.Name, values.Get("action").Text()
	if err := s.act(c, name, action); err != nil {
		return Object[ActionDone]{}, err
	}
	if f, err = findFarm(c.cfg, name); err != nil {
		return Object[ActionDone]{}, err
	}
	return Object[ActionDone]{
		Description: "Actions of the farm " + name,
		Params:      ActionDone{Action: action, Status: s.status(f)},
		Message:     fmt.Sprintf("The action %s has been done on the farm %s.", action, name),
	}, nil
}

// act starts, stops or restarts. Both ways of starting verify the VIP first.
// What is stopped has nothing to be stopped for a restart: it is started.
func (s *Server) act(c *call, name, action string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if action == "restart" && !f.Stopped {
		return s.restart(c, name)
	}
	result, err := c.change(action+" farm "+name, func(cfg *farm.Config) error {
		f, err := findFarm(cfg, name)
		if err != nil {
			return err
		}
		f.Stopped = action == "stop"
		if f.Stopped {
			return nil
		}
		return validate.LocalVIP(f.VIP, s.deps.LocalAddrs())
	})
	if err != nil {
		return err
	}
	return s.mustRun(c, result, name, action)
}

func (s *Server) restart(c *call, name string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if err := validate.LocalVIP(f.VIP, s.deps.LocalAddrs()); err != nil {
		return err
	}
	expect, err := c.expected()
	if err != nil {
		return err
	}
	result, err := s.deps.Applier.Restart(c.ctx, c.author(), name)
	if result, err = c.keep(result, err, expect); err != nil {
		return err
	}
	return s.mustRun(c, result, name, "restart")
}

// mustRun refuses an action whose farm does not run afterwards although it
// should: the setting is kept, but who asked must know.
func (s *Server) mustRun(c *call, result apply.Result, name, action string) error {
	f, err := findFarm(c.cfg, name)
	if err != nil {
		return err
	}
	if problem := result.FarmErrors[f.ID]; problem != "" && action != "stop" {
		return refuse(http.StatusBadRequest, "the farm %s could not be started: %s", name, problem)
	}
	return nil
}
