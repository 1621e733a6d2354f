package api

import (
	"fmt"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// backendList serves the backends of services or of l4xnat farms; V is how one
// is shown.
type backendList[V any] struct {
	s              *Server
	create, update *validate.Table[farm.Backend]
	show           func(g farm.Group, position int) V
}

func (s *Server) backendOperations() []*operation {
	ofService := backendList[BackendView]{s, &validate.BackendCreate, &validate.BackendUpdate, s.backendView}
	ofFarm := backendList[L4BackendView]{s, &validate.L4BackendCreate, &validate.L4BackendUpdate, s.l4BackendView}
	return append(ofService.operations(serviceGroup, "a service"), ofFarm.operations(farmGroup, "an l4xnat farm")...)
}

func (l backendList[V]) operations(group, whose string) []*operation {
	all := group + "/backends"
	return []*operation{
		op(get, all, auth.RightRead, "List the backends of "+whose, l.list),
		op(post, all, auth.RightConfigure, "Create a backend of "+whose, l.add).body(l.create).created(),
		op(put, all+"/{backend}", auth.RightConfigure, "Modify a backend of "+whose, l.modify).body(l.update),
		op(del, all+"/{backend}", auth.RightConfigure, "Delete a backend of "+whose, l.remove),
		op(put, all+"/{backend}/maintenance", auth.RightOperate, "Set the maintenance of a backend of "+whose, l.maintain).body(&validate.Maintenance),
	}
}

// shown lists the backends of a group.
func (l backendList[V]) shown(g farm.Group) []V {
	out := []V{}
	for i := range g.Backends() {
		out = append(out, l.show(g, i))
	}
	return out
}

func (l backendList[V]) list(c *call) (List[V], error) {
	g, err := c.group()
	if err != nil {
		return List[V]{}, err
	}
	return list(fmt.Sprintf("List the backends of %s", g), l.shown(g)), nil
}

func (l backendList[V]) add(c *call) (Object[V], error) {
	g, err := c.group()
	if err != nil {
		return Object[V]{}, err
	}
	values, err := decode(c, l.create)
	if err != nil {
		return Object[V]{}, err
	}
	farmName, service, position := g.Farm.Name, g.Name(), 0
	_, err = c.change(fmt.Sprintf("add %s to %s", named(values), g), func(cfg *farm.Config) error {
		g, err := findGroup(cfg, farmName, service)
		if err != nil {
			return err
		}
		if err := profileOf(g.Farm).TakesBackend(g); err != nil {
			return err
		}
		var created farm.Backend
		if err := values.Apply(&created); err != nil {
			return err
		}
		if err := validate.LocalSource(created.Source, l.s.deps.LocalAddrs()); err != nil {
			return err
		}
		position = g.Add(created)
		return nil
	})
	if err != nil {
		return Object[V]{}, err
	}
	if g, err = findGroup(c.cfg, farmName, service); err != nil || position >= len(g.Backends()) {
		return Object[V]{}, err
	}
	return Object[V]{
		Description: fmt.Sprintf("New backend of %s", g),
		Params:      l.show(g, position), Status: l.s.statusOf(c, farmName), Warning: c.warning(validate.PathOfBackend(g, position)),
		Message: fmt.Sprintf("The backend %d has been added to %s.", g.Number(position), g),
	}, nil
}

// named is a new backend in the comment of a revision.
func named(values validate.Values[farm.Backend]) string {
	if port := values.Get("port").Number(); port != 0 {
		return fmt.Sprintf("backend %s port %d", values.Get("ip").Text(), port)
	}
	return "backend " + values.Get("ip").Text()
}

func (l backendList[V]) modify(c *call) (Changed, error) {
	at, err := c.backend()
	if err != nil {
		return Changed{}, err
	}
	values, err := decode(c, l.update)
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
		return validate.LocalSource(b.Source, l.s.deps.LocalAddrs())
	})
	if err != nil {
		return Changed{}, err
	}
	g, _, err := at.in(c.cfg)
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: fmt.Sprintf("Modify %s", at), Params: values.Sent(),
		Message: fmt.Sprintf("The %s has been changed.", at),
		Status:  l.s.statusOf(c, at.farm), Warning: c.warning(validate.PathOfBackend(g, at.position)),
	}, nil
}

func (l backendList[V]) remove(c *call) (Done, error) {
	at, err := c.backend()
	if err != nil {
		return Done{}, err
	}
	_, err = c.change(fmt.Sprintf("delete %s", at), func(cfg *farm.Config) error {
		g, _, err := at.in(cfg)
		if err != nil {
			return err
		}
		g.SetBackends(slices.Delete(g.Backends(), at.position, at.position+1))
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

func (l backendList[V]) maintain(c *call) (Object[Maintained], error) {
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
		Params:      Maintained{Action: action, Mode: string(mode), Farm: FarmStatus{Status: l.s.statusOf(c, at.farm)}},
		Message:     fmt.Sprintf("The action %s has been done on %s.", action, at),
	}, nil
}
