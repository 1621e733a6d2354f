package api

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// ServiceDetails is the answer about one service.
type ServiceDetails struct {
	Description string      `json:"description"`
	Services    ServiceView `json:"services"`
}

func (s *Server) getService(c *call) (ServiceDetails, error) {
	f, v, err := c.service()
	if err != nil {
		return ServiceDetails{}, err
	}
	return ServiceDetails{
		Description: fmt.Sprintf("Get service %s of farm %s", v.Name, f.Name),
		Services:    s.serviceView(f.GroupOf(v)),
	}, nil
}

func (s *Server) createService(c *call) (Changed, error) {
	f, err := c.farm()
	if err != nil {
		return Changed{}, err
	}
	values, err := decode(c, &validate.ServiceCreate)
	if err != nil {
		return Changed{}, err
	}
	farmName, name := f.Name, values.Get("id").Text()
	_, err = c.change(fmt.Sprintf("create service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, err := findFarm(cfg, farmName)
		if err != nil {
			return err
		}
		if err := hasServices(f); err != nil {
			return err
		}
		if f.Service(name) != nil {
			return badRequest("id: a service named %s exists already in the farm %s", name, farmName)
		}
		var created farm.Service
		if err := values.Apply(&created); err != nil {
			return err
		}
		f.HTTP.Services = append(f.HTTP.Services, created)
		return nil
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: "New service of farm " + farmName, Params: values.Sent(),
		Message: fmt.Sprintf("The service %s has been created in farm %s.", name, farmName),
		Status:  s.statusOf(c, farmName), Warning: c.warning(validate.ServicePath(farmName, name)),
	}, nil
}

// statusOf is the status of a farm after a change, "" when it is gone.
func (s *Server) statusOf(c *call, name string) farm.Status {
	f := c.cfg.Farm(name)
	if f == nil {
		return ""
	}
	return s.status(f)
}

func (s *Server) updateService(c *call) (Changed, error) {
	f, v, err := c.service()
	if err != nil {
		return Changed{}, err
	}
	values, err := decodeBeside(c, &validate.ServiceUpdate, rulesOfService(v), func(string) error { return nil })
	if err != nil {
		return Changed{}, err
	}
	farmName, name := f.Name, v.Name
	_, err = c.change(fmt.Sprintf("modify service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		_, v, err := findService(cfg, farmName, name)
		if err != nil {
			return err
		}
		return values.Apply(v)
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: fmt.Sprintf("Modify service %s of farm %s", name, farmName), Params: values.Sent(),
		Message: fmt.Sprintf("Some parameters have been changed in service %s of farm %s.", name, farmName),
		Status:  s.statusOf(c, farmName), Warning: c.warning(validate.ServicePath(farmName, name)),
	}, nil
}

func (s *Server) deleteService(c *call) (Done, error) {
	f, v, err := c.service()
	if err != nil {
		return Done{}, err
	}
	farmName, name := f.Name, v.Name
	_, err = c.change(fmt.Sprintf("delete service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, _, err := findService(cfg, farmName, name)
		if err != nil {
			return err
		}
		f.HTTP.Services = slices.DeleteFunc(f.HTTP.Services, func(v farm.Service) bool { return v.Name == name })
		return nil
	})
	if err != nil {
		return Done{}, err
	}
	return done(fmt.Sprintf("Delete service %s of farm %s", name, farmName),
		fmt.Sprintf("The service %s has been deleted from farm %s.", name, farmName)), nil
}

// Moved is the position a service was moved to.
type Moved struct {
	Position int `json:"position"`
}

// moveService changes the order in which services are tried.
func (s *Server) moveService(c *call) (Object[Moved], error) {
	f, v, err := c.service()
	if err != nil {
		return Object[Moved]{}, err
	}
	values, err := decode(c, &validate.ServiceMove)
	if err != nil {
		return Object[Moved]{}, err
	}
	farmName, name, to := f.Name, v.Name, values.Get("position").Number()
	_, err = c.change(fmt.Sprintf("move service %s of farm %s to position %d", name, farmName, to), func(cfg *farm.Config) error {
		f, _, err := findService(cfg, farmName, name)
		if err != nil {
			return err
		}
		return move(f, name, to)
	})
	if err != nil {
		return Object[Moved]{}, err
	}
	return Object[Moved]{
		Description: fmt.Sprintf("Move service %s of farm %s", name, farmName), Params: Moved{Position: int(to)},
		Message: fmt.Sprintf("The service %s has been moved to position %d.", name, to),
		Status:  s.statusOf(c, farmName),
	}, nil
}

func move(f *farm.Farm, name string, to int64) error {
	all := f.HTTP.Services
	if to >= int64(len(all)) {
		return badRequest("position: %d is not allowed, allowed are 0 to %d", to, len(all)-1)
	}
	from := slices.IndexFunc(all, func(v farm.Service) bool { return v.Name == name })
	moved := all[from]
	all = slices.Delete(all, from, from+1)
	f.HTTP.Services = slices.Insert(all, int(to), moved)
	return nil
}
