package farms

import (
	"fmt"
	"net/http"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// ActionDone is the response to an action on a farm.
type ActionDone struct {
	Action string      `json:"action"`
	Status farm.Status `json:"status"`
}

func (s *Resource) actOnFarm(c *rest.Call) (rest.Object[ActionDone], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Object[ActionDone]{}, err
	}
	values, err := rest.Decode(c, &profile.FarmAction)
	if err != nil {
		return rest.Object[ActionDone]{}, err
	}
	name, action := f.Name, values.Get("action").Text()
	if err := s.act(c, name, action); err != nil {
		return rest.Object[ActionDone]{}, err
	}
	if f, err = rest.FindFarm(c.Config, name); err != nil {
		return rest.Object[ActionDone]{}, err
	}
	return rest.Object[ActionDone]{
		Description: "Actions of the farm " + name,
		Params:      ActionDone{Action: action, Status: s.deps.State.Status(f)},
		Message:     fmt.Sprintf("The action %s has been done on the farm %s.", action, name), Warning: c.Warning(profile.FarmPath(name)),
	}, nil
}

// act starts, stops or restarts a farm. Starting and restarting first verify the VIP and
// its interface. Restarting a stopped farm just starts it.
func (s *Resource) act(c *rest.Call, name, action string) error {
	f, err := rest.FindFarm(c.Config, name)
	if err != nil {
		return err
	}
	if action == "restart" && !f.Stopped {
		return s.restart(c, name)
	}
	result, err := c.Change(action+" farm "+name, func(cfg *farm.Config) error {
		f, err := rest.FindFarm(cfg, name)
		if err != nil {
			return err
		}
		f.Stopped = action == "stop"
		if f.Stopped {
			return nil
		}
		return s.mayStart(f)
	})
	if err != nil {
		return err
	}
	return s.mustRun(c, result, name, action)
}

func (s *Resource) restart(c *rest.Call, name string) error {
	if err := c.NoConfiguration("the restart of a farm"); err != nil {
		return err
	}
	f, err := rest.FindFarm(c.Config, name)
	if err != nil {
		return err
	}
	if err := s.mayStart(f); err != nil {
		return err
	}
	expect, err := c.Expected()
	if err != nil {
		return err
	}
	result, err := s.deps.Applier.Restart(c.Context, c.Author(), name)
	if result, err = c.Keep(result, err, expect); err != nil {
		return err
	}
	return s.mustRun(c, result, name, "restart")
}

// mayStart returns the reason why a farm cannot start: its VIP must be an address of this
// machine, on an interface that is up.
func (s *Resource) mayStart(f *farm.Farm) error {
	if err := profile.LocalVIP(f.VIP, s.deps.LocalAddrs()); err != nil {
		return err
	}
	return profile.UpVIP(f.VIP, s.deps.DownInterface(f.VIP))
}

// mustRun reports an error if the farm should run after the action but does not. The
// setting is kept, but the caller must know.
func (s *Resource) mustRun(c *rest.Call, result apply.Result, name, action string) error {
	f, err := rest.FindFarm(c.Config, name)
	if err != nil {
		return err
	}
	if problem := result.FarmErrors[f.ID]; problem != "" && !result.Absent[f.ID] && action != "stop" {
		return rest.Refuse(http.StatusBadRequest, "the farm %s could not be started: %s", name, problem)
	}
	return nil
}
