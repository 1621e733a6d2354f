package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// backendList serves the backends of services, or of farms themselves; V is an
// answer about one, in the shape of the profile of its farm.
type backendList[V serviceBackend | farmBackend] struct {
	s      *Server
	bodies backendFields
}

type (
	serviceBackend struct{ of any }
	farmBackend    struct{ of any }
)

// MarshalJSON writes the answer of the profile.
func (a serviceBackend) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// MarshalJSON writes the answer of the profile.
func (a farmBackend) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Schema says that the answer has one of the shapes.
func (serviceBackend) Schema(r huma.Registry) *huma.Schema { return shapeOfBackends(r, true) }

// Schema says that the answer has one of the shapes.
func (farmBackend) Schema(r huma.Registry) *huma.Schema { return shapeOfBackends(r, false) }

func shapeOfBackends(r huma.Registry, ofServices bool) *huma.Schema {
	return oneOf(r, func(p profile) reflect.Type {
		if p.Name().HasServices() == ofServices {
			return p.backendShape()
		}
		return nil
	})
}

// backendFields are those of a backend of a service, or of a farm itself, of any
// profile: in its creation, or in a change.
type backendFields struct{ ofServices, creation bool }

// Params lists the fields for the document: what two profiles have comes twice.
func (of backendFields) Params() []validate.Param {
	return eachProfile(func(p profile) []validate.Param {
		switch {
		case p.Name().HasServices() != of.ofServices:
			return nil
		case of.creation:
			return p.Backend().Create.Params()
		}
		return p.Backend().Update.Params()
	})
}

func (s *Server) backendOperations() []*operation {
	return append(backendList[serviceBackend]{s, backendFields{ofServices: true}}.operations(servicePath, "a service"),
		backendList[farmBackend]{s, backendFields{}}.operations(farmPath, "a farm without services")...)
}

func (l backendList[V]) operations(group, whose string) []*operation {
	all := group + "/backends"
	created := l.bodies
	created.creation = true
	return []*operation{
		op(get, all, rbac.Open, "List the backends of "+whose, l.list),
		op(post, all, rbac.FarmModify, "Create a backend of "+whose, l.add).body(created).created(),
		op(put, all+"/{backend}", rbac.FarmModify, "Modify a backend of "+whose, l.modify).body(l.bodies),
		op(del, all+"/{backend}", rbac.FarmModify, "Delete a backend of "+whose, l.remove),
		op(put, all+"/{backend}/maintenance", rbac.FarmMaintenance, "Set the maintenance of a backend of "+whose, l.maintain).body(&validate.Maintenance),
	}
}

func (l backendList[V]) show(g farm.Group, position int) V {
	return V(struct{ of any }{profileOf(g.Farm).backend(l.s, g, position)})
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
	values, err := decode(c, profileOf(g.Farm).Backend().Create)
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
	values, err := decode(c, profileOf(c.cfg.Farm(at.farm)).Backend().Update)
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
