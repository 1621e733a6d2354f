package farms

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// backendList serves the backends of services or of farms. V is the response for one
// backend, as the variant of the farm's profile.
type backendList[V serviceBackend | farmBackend] struct {
	s      *Resource
	bodies backendFields
}

type (
	serviceBackend struct{ of any }
	farmBackend    struct{ of any }
)

// MarshalJSON encodes the variant of the profile.
func (a serviceBackend) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// MarshalJSON encodes the variant of the profile.
func (a farmBackend) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Shown returns the variant of the profile.
func (a serviceBackend) Shown() any           { return a.of }
func (serviceBackend) Shapes() []reflect.Type { return backendShapes(true) }

// Shown returns the variant of the profile.
func (a farmBackend) Shown() any           { return a.of }
func (farmBackend) Shapes() []reflect.Type { return backendShapes(false) }

func backendShapes(ofServices bool) []reflect.Type {
	return eachProfile(func(p descriptor) []reflect.Type {
		if p.Name().HasServices() != ofServices {
			return nil
		}
		return []reflect.Type{p.backendShape()}
	})
}

// Schema describes the response as one of its variants.
func (serviceBackend) Schema(r rest.Registry) *rest.Schema { return shapeOfBackends(r, true) }

// Schema describes the response as one of its variants.
func (farmBackend) Schema(r rest.Registry) *rest.Schema { return shapeOfBackends(r, false) }

func shapeOfBackends(r rest.Registry, ofServices bool) *rest.Schema {
	return oneOf(r, func(p descriptor) reflect.Type {
		if p.Name().HasServices() == ofServices {
			return p.backendShape()
		}
		return nil
	})
}

// backendFields lists the fields for creating or changing a backend of a service or of a
// farm, for all profiles.
type backendFields struct{ ofServices, creation bool }

// Params lists the fields. A field that two profiles share appears twice.
func (of backendFields) Params() []field.Param { return paramsOf(of.Variants()) }

// Variants returns the fields by profile.
func (of backendFields) Variants() []rest.Variant {
	return eachProfile(func(p descriptor) []rest.Variant {
		switch {
		case p.Name().HasServices() != of.ofServices:
			return nil
		case of.creation:
			return []rest.Variant{{Profile: p.Name(), Of: p.Backend().Create}}
		}
		return []rest.Variant{{Profile: p.Name(), Of: p.Backend().Update}}
	})
}

func (s *Resource) backendOperations() []*rest.Operation {
	return append(backendList[serviceBackend]{s, backendFields{ofServices: true}}.operations(rest.ServicePath, "a service"),
		backendList[farmBackend]{s, backendFields{}}.operations(rest.FarmPath, "a farm without services")...)
}

func (l backendList[V]) operations(group, whose string) []*rest.Operation {
	all := group + "/backends"
	created := l.bodies
	created.creation = true
	return []*rest.Operation{
		rest.Op(rest.Get, all, rbac.Open, "List the backends of "+whose, l.list),
		rest.Op(rest.Post, all, rbac.FarmModify, "Create a backend of "+whose, l.add).Body(created).Created().Edits(),
		rest.Op(rest.Put, all+"/{backend}", rbac.FarmModify, "Modify a backend of "+whose, l.modify).Body(l.bodies).Edits(),
		rest.Op(rest.Delete, all+"/{backend}", rbac.FarmModify, "Delete a backend of "+whose, l.remove).Edits(),
		rest.Op(rest.Put, all+"/{backend}/maintenance", rbac.FarmMaintenance, "Set the maintenance of a backend of "+whose, l.maintain).Body(&profile.Maintenance).Edits(),
	}
}

func (l backendList[V]) show(c *rest.Call, g farm.Group, position int) V {
	return V(struct{ of any }{ProfileOf(g.Farm).backend(l.s, c, g, position)})
}

func (l backendList[V]) list(c *rest.Call) (rest.List[V], error) {
	g, err := c.Group()
	if err != nil {
		return rest.List[V]{}, err
	}
	return rest.ListOf(fmt.Sprintf("List the backends of %s", g), len(g.Backends()), func(i int) V { return l.show(c, g, i) }), nil
}

func (l backendList[V]) add(c *rest.Call) (rest.Object[V], error) {
	g, err := c.Group()
	if err != nil {
		return rest.Object[V]{}, err
	}
	values, err := decodeOwn(c, g.Farm, ProfileOf(g.Farm).Backend().Create, newBackend)
	if err != nil {
		return rest.Object[V]{}, err
	}
	farmName, service, position := g.Farm.Name, g.Name(), 0
	_, err = c.ChangeFarm(farmName, fmt.Sprintf("add %s to %s", named(values), g), func(cfg *farm.Config) error {
		g, err := rest.FindGroup(cfg, farmName, service)
		if err != nil {
			return err
		}
		if err := ProfileOf(g.Farm).TakesBackend(g); err != nil {
			return err
		}
		var created farm.Backend
		if err := values.Apply(&created); err != nil {
			return err
		}
		if err := profile.LocalSource(created.Source, l.s.deps.LocalAddrs()); err != nil {
			return err
		}
		position = g.Add(created)
		return nil
	})
	if err != nil {
		return rest.Object[V]{}, err
	}
	if g, err = rest.FindGroup(c.Config, farmName, service); err != nil || position >= len(g.Backends()) {
		return rest.Object[V]{}, err
	}
	return rest.Object[V]{
		Description: fmt.Sprintf("New backend of %s", g),
		Params:      l.show(c, g, position), Status: l.s.deps.State.StatusOf(c, farmName), Warning: c.Warning(profile.PathOfBackend(g, position)),
		Message: fmt.Sprintf("The backend %d has been added to %s.", g.Number(position), g),
	}, nil
}

// named describes a new backend in the comment of a revision.
func named(values field.Values[farm.Backend]) string {
	if port := values.Get("port").Number(); port != 0 {
		return fmt.Sprintf("backend %s port %d", values.Get("ip").Text(), port)
	}
	return "backend " + values.Get("ip").Text()
}

func (l backendList[V]) modify(c *rest.Call) (rest.Changed, error) {
	at, err := c.Backend()
	if err != nil {
		return rest.Changed{}, err
	}
	own := c.Config.Farm(at.Farm)
	values, err := decodeOwn(c, own, ProfileOf(own).Backend().Update, changedBackend)
	if err != nil {
		return rest.Changed{}, err
	}
	_, err = c.ChangeFarm(at.Farm, fmt.Sprintf("modify %s", at), func(cfg *farm.Config) error {
		_, b, err := at.In(cfg)
		if err != nil {
			return err
		}
		source, alias := b.Source, b.Alias
		if err := values.Apply(b); err != nil {
			return err
		}
		keepBorrowed(&cfg.System.Aliases, b, alias)
		if b.Source == source {
			return nil
		}
		return profile.LocalSource(b.Source, l.s.deps.LocalAddrs())
	})
	if err != nil {
		return rest.Changed{}, err
	}
	g, _, err := at.In(c.Config)
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: fmt.Sprintf("Modify %s", at), Params: values.Sent(),
		Message: fmt.Sprintf("The %s has been changed.", at),
		Status:  l.s.deps.State.StatusOf(c, at.Farm), Warning: c.Warning(profile.PathOfBackend(g, at.Position)),
	}, nil
}

// keepBorrowed clears the alias of b if it is only the alias of its address, sent back as
// shown, and b had none before (was).
func keepBorrowed(known *farm.Aliases, b *farm.Backend, was string) {
	if without := (farm.Backend{Host: b.Host, Addr: b.Addr}); was == "" && b.Alias == known.Called(&without) {
		b.Alias = ""
	}
}

func (l backendList[V]) remove(c *rest.Call) (rest.Done, error) {
	at, err := c.Backend()
	if err != nil {
		return rest.Done{}, err
	}
	_, err = c.ChangeFarm(at.Farm, fmt.Sprintf("delete %s", at), func(cfg *farm.Config) error {
		g, _, err := at.In(cfg)
		if err != nil {
			return err
		}
		g.SetBackends(slices.Delete(g.Backends(), at.Position, at.Position+1))
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Delete %s", at), fmt.Sprintf("The %s has been deleted.", at)), nil
}

// MaintainedFarm is the farm of a backend whose maintenance changed.
type MaintainedFarm struct {
	Status farm.Status `json:"status"`
}

// Maintained is the response to a change of maintenance.
type Maintained struct {
	Action string         `json:"action" enum:"up,maintenance"`
	Mode   string         `json:"mode,omitempty" enum:"drain,cut"`
	Farm   MaintainedFarm `json:"farm"`
}

func (l backendList[V]) maintain(c *rest.Call) (rest.Object[Maintained], error) {
	at, err := c.Backend()
	if err != nil {
		return rest.Object[Maintained]{}, err
	}
	values, err := rest.Decode(c, &profile.Maintenance)
	if err != nil {
		return rest.Object[Maintained]{}, err
	}
	action := values.Get("action").Text()
	var mode farm.Maintenance
	_, err = c.ChangeFarm(at.Farm, fmt.Sprintf("%s of %s", action, at), func(cfg *farm.Config) error {
		_, b, err := at.In(cfg)
		if err != nil {
			return err
		}
		err = values.Apply(b)
		mode = b.Maintenance
		return err
	})
	if err != nil {
		return rest.Object[Maintained]{}, err
	}
	return rest.Object[Maintained]{
		Description: fmt.Sprintf("Set the maintenance of %s", at),
		Params:      Maintained{Action: action, Mode: string(mode), Farm: MaintainedFarm{Status: l.s.deps.State.StatusOf(c, at.Farm)}},
		Message:     fmt.Sprintf("The action %s has been done on %s.", action, at),
	}, nil
}
