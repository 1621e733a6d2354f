package api

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

func (s *Server) listBackends(c *call) (List[BackendView], error) {
	f, v, err := c.service()
	if err != nil {
		return List[BackendView]{}, err
	}
	return list(fmt.Sprintf("List the backends of service %s of farm %s", v.Name, f.Name), s.backendViews(v)), nil
}

func (s *Server) createBackend(c *call) (Object[BackendView], error) {
	f, v, err := c.service()
	if err != nil {
		return Object[BackendView]{}, err
	}
	values, err := decode(c, &validate.BackendCreate)
	if err != nil {
		return Object[BackendView]{}, err
	}
	farmName, name := f.Name, v.Name
	comment := fmt.Sprintf("add backend %s port %d to service %s of farm %s", values.Get("ip").Text(), values.Get("port").Number(), name, farmName)
	_, err = c.change(comment, func(cfg *farm.Config) error {
		_, v, err := findService(cfg, farmName, name)
		if err != nil {
			return err
		}
		if err := validate.AddBackend("", v); err != nil {
			return err
		}
		var created farm.Backend
		if err := values.Apply(&created); err != nil {
			return err
		}
		if err := validate.LocalSource(created.Source, s.deps.LocalAddrs()); err != nil {
			return err
		}
		v.Backends = append(v.Backends, created)
		return nil
	})
	if err != nil {
		return Object[BackendView]{}, err
	}
	if _, v, err = findService(c.cfg, farmName, name); err != nil || len(v.Backends) == 0 {
		return Object[BackendView]{}, err
	}
	last := len(v.Backends) - 1 // the configuration is the one this change made
	return Object[BackendView]{
		Description: fmt.Sprintf("New backend of service %s of farm %s", name, farmName),
		Params:      s.backendView(v, last), Status: s.statusOf(c, farmName), Warning: validate.PriorityWarning(v, last),
		Message: fmt.Sprintf("The backend %d has been added to service %s of farm %s.", last, name, farmName),
	}, nil
}

// backendAt is a backend as the path names it.
type backendAt struct {
	farm, service string
	position      int
	// id is the stable number of what stood at that position when the request
	// was read: the change must find the same backend there.
	id uint32
}

func (c *call) backend() (backendAt, error) {
	f, v, err := c.service()
	if err != nil {
		return backendAt{}, err
	}
	at, err := findBackend(v, c.param("backend"))
	if err != nil {
		return backendAt{}, err
	}
	return backendAt{farm: f.Name, service: v.Name, position: at, id: v.Backends[at].ID}, nil
}

// in finds the backend in a configuration that may be newer. A position that
// means another backend by now is a lost race, not a change to that one.
func (b backendAt) in(cfg *farm.Config) (*farm.Service, *farm.Backend, error) {
	_, v, err := findService(cfg, b.farm, b.service)
	if err != nil {
		return nil, nil, err
	}
	if b.position >= len(v.Backends) || v.Backends[b.position].ID != b.id {
		return nil, nil, refuse(409, "the backends of service %s were changed by someone else: read them again", b.service)
	}
	return v, &v.Backends[b.position], nil
}

func (b backendAt) String() string {
	return fmt.Sprintf("backend %d of service %s of farm %s", b.position, b.service, b.farm)
}

func (s *Server) updateBackend(c *call) (Changed, error) {
	at, err := c.backend()
	if err != nil {
		return Changed{}, err
	}
	values, err := decode(c, &validate.BackendUpdate)
	if err != nil {
		return Changed{}, err
	}
	_, err = c.change(fmt.Sprintf("modify %s", at), func(cfg *farm.Config) error {
		_, b, err := at.in(cfg)
		if err != nil {
			return err
		}
		source := b.Source
		if err := values.Apply(b); err != nil || b.Source == source {
			return err
		}
		return validate.LocalSource(b.Source, s.deps.LocalAddrs())
	})
	if err != nil {
		return Changed{}, err
	}
	v, _, err := at.in(c.cfg)
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: fmt.Sprintf("Modify %s", at), Params: values.Sent(),
		Message: fmt.Sprintf("The %s has been changed.", at),
		Status:  s.statusOf(c, at.farm), Warning: validate.PriorityWarning(v, at.position),
	}, nil
}

func (s *Server) deleteBackend(c *call) (Done, error) {
	at, err := c.backend()
	if err != nil {
		return Done{}, err
	}
	_, err = c.change(fmt.Sprintf("delete %s", at), func(cfg *farm.Config) error {
		v, _, err := at.in(cfg)
		if err != nil {
			return err
		}
		v.Backends = slices.Delete(v.Backends, at.position, at.position+1)
		return nil
	})
	if err != nil {
		return Done{}, err
	}
	return done(fmt.Sprintf("Delete %s", at), fmt.Sprintf("The %s has been deleted.", at)), nil
}

// Maintained is the answer to taking a backend out or in.
type Maintained struct {
	Action string     `json:"action" enum:"up,maintenance"`
	Mode   string     `json:"mode,omitempty" enum:"drain,cut"`
	Farm   FarmStatus `json:"farm"`
}

func (s *Server) maintainBackend(c *call) (Object[Maintained], error) {
	at, err := c.backend()
	if err != nil {
		return Object[Maintained]{}, err
	}
	values, err := decode(c, &validate.Maintenance)
	if err != nil {
		return Object[Maintained]{}, err
	}
	action := values.Get("action").Text()
	var mode farm.Maintenance
	_, err = c.change(fmt.Sprintf("%s of %s", action, at), func(cfg *farm.Config) error {
		_, b, err := at.in(cfg)
		if err != nil {
			return err
		}
		err = values.Apply(b)
		mode = b.Maintenance
		return err
	})
	if err != nil {
		return Object[Maintained]{}, err
	}
	return Object[Maintained]{
		Description: fmt.Sprintf("Set the maintenance of %s", at),
		Params:      Maintained{Action: action, Mode: string(mode), Farm: FarmStatus{Status: s.statusOf(c, at.farm)}},
		Message:     fmt.Sprintf("The action %s has been done on %s.", action, at),
	}, nil
}
