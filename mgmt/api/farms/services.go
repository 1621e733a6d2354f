package farms

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/inline"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// services holds the API's knowledge of the services of one profile. Implementations use
// servicesOf.
type services interface {
	// bodies returns the bodies for creation and change.
	bodies() (create, update rest.Fields)
	// details returns the response for one service, shape its type.
	details(s *Resource, c *rest.Call, g farm.Group) any
	shape() reflect.Type

	create(s *Resource, c *rest.Call, f *farm.Farm) (rest.Changed, error)
	update(s *Resource, c *rest.Call, g farm.Group) (rest.Changed, error)
	// remove deletes a service from the farm unless something needs it.
	remove(f *farm.Farm, position int) error
	move(f *farm.Farm, from, to int)
}

// servicesOf implements services for farms that store them as a list of T, in the order of
// their groups. V is the response type.
type servicesOf[T, V any] struct {
	creation, change *field.Table[T]
	list             func(*farm.Farm) *[]T
	view             func(*Resource, *rest.Call, farm.Group) V
	// rules returns the length of each list that is changed item by item.
	rules func(*T) map[string]int
	// kept returns the reason why a service cannot be deleted; nil: always deletable.
	kept func(f *farm.Farm, name string) error
}

func (l servicesOf[T, V]) bodies() (create, update rest.Fields) { return l.creation, l.change }

func (l servicesOf[T, V]) details(s *Resource, c *rest.Call, g farm.Group) any {
	return l.view(s, c, g)
}

func (l servicesOf[T, V]) shape() reflect.Type { return reflect.TypeFor[V]() }

func (l servicesOf[T, V]) create(s *Resource, c *rest.Call, f *farm.Farm) (rest.Changed, error) {
	values, err := decodeOwn(c, f, l.creation, newService)
	if err != nil {
		return rest.Changed{}, err
	}
	farmName, name := f.Name, values.Get("id").Text()
	_, err = c.ChangeFarm(farmName, fmt.Sprintf("create service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, err := rest.FindFarm(cfg, farmName)
		if err != nil {
			return err
		}
		if err := sameProfile(f, c.Config.Farm(farmName)); err != nil {
			return err
		}
		if rest.ServiceNamed(f, name) >= 0 {
			return rest.BadRequest("id: a service named %s exists already in the farm %s", name, farmName)
		}
		var created T
		if err := values.Apply(&created); err != nil {
			return err
		}
		all := l.list(f)
		*all = append(*all, created)
		return nil
	})
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: "New service of farm " + farmName, Params: values.Sent(),
		Message: fmt.Sprintf("The service %s has been created in farm %s.", name, farmName),
		Status:  s.deps.State.StatusOf(c, farmName), Warning: c.Warning(profile.ServicePath(farmName, name)),
	}, nil
}

func (l servicesOf[T, V]) update(s *Resource, c *rest.Call, g farm.Group) (rest.Changed, error) {
	farmName, name := g.Farm.Name, g.Name()
	values, err := decodeBeside(c, l.change, l.rules(&(*l.list(g.Farm))[rest.ServiceNamed(g.Farm, name)]), func(field string) error {
		return ofAnother(field, ProfileOf(g.Farm), farmName, changedService)
	})
	if err != nil {
		return rest.Changed{}, err
	}
	_, err = c.ChangeFarm(farmName, fmt.Sprintf("modify service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		found, err := rest.FindServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		if err := sameProfile(found.Farm, g.Farm); err != nil {
			return err
		}
		return values.Apply(&(*l.list(found.Farm))[rest.ServiceNamed(found.Farm, name)])
	})
	if err != nil {
		return rest.Changed{}, err
	}
	return rest.Changed{
		Description: fmt.Sprintf("Modify service %s of farm %s", name, farmName), Params: values.Sent(),
		Message: fmt.Sprintf("Some parameters have been changed in service %s of farm %s.", name, farmName),
		Status:  s.deps.State.StatusOf(c, farmName), Warning: c.Warning(profile.ServicePath(farmName, name)),
	}, nil
}

func (l servicesOf[T, V]) remove(f *farm.Farm, position int) error {
	if l.kept != nil {
		if err := l.kept(f, f.Groups()[position].Name()); err != nil {
			return err
		}
	}
	all := l.list(f)
	*all = slices.Delete(*all, position, position+1)
	return nil
}

func (l servicesOf[T, V]) move(f *farm.Farm, from, to int) {
	all := l.list(f)
	moved := (*all)[from]
	*all = slices.Insert(slices.Delete(*all, from, from+1), to, moved)
}

// sameProfile rejects a change if the farm was recreated with another profile since the
// request was read.
func sameProfile(now, was *farm.Farm) error {
	if was == nil || now.Profile == was.Profile {
		return nil
	}
	return rest.Refuse(409, "the farm %s was changed by someone else: read it again", now.Name)
}

// serviceFields lists the fields of services of all profiles.
type serviceFields struct{ creation bool }

// Params lists the fields. A field that two profiles share appears twice.
func (of serviceFields) Params() []field.Param { return paramsOf(of.Variants()) }

// Variants returns the fields by profile.
func (of serviceFields) Variants() []rest.Variant {
	return eachProfile(func(p descriptor) []rest.Variant {
		own := p.services()
		if own == nil {
			return nil
		}
		create, update := own.bodies()
		if of.creation {
			return []rest.Variant{{Profile: p.Name(), Of: create}}
		}
		return []rest.Variant{{Profile: p.Name(), Of: update}}
	})
}

func (s *Resource) serviceOperations() []*rest.Operation {
	const one = "/farms/{farm}/services/{service}"
	return []*rest.Operation{
		rest.Op(rest.Post, "/farms/{farm}/services", rbac.FarmModify, "Create a service", s.createService).Body(serviceFields{creation: true}).Created().Edits(),
		rest.Op(rest.Get, one, rbac.Open, "Get a service", s.getService),
		rest.Op(rest.Put, one, rbac.FarmModify, "Modify a service", s.updateService).Body(serviceFields{}).Edits(),
		rest.Op(rest.Delete, one, rbac.FarmModify, "Delete a service", s.deleteService).Edits(),
		rest.Op(rest.Post, one+"/actions", rbac.FarmModify, "Move a service", s.moveService).Body(&httpfarm.ServiceMove).Edits(),
	}
}

// ServiceDetails is the response for one service.
type ServiceDetails struct {
	Description string        `json:"description"`
	Services    serviceAnswer `json:"services"`
}

// serviceAnswer is the response for one service, as the variant of its farm's profile.
type serviceAnswer struct{ of any }

// MarshalJSON encodes the variant of the profile.
func (a serviceAnswer) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Schema describes the response as one of its variants.
func (serviceAnswer) Schema(r rest.Registry) *rest.Schema {
	return oneOf(r, func(p descriptor) reflect.Type {
		if own := p.services(); own != nil {
			return own.shape()
		}
		return nil
	})
}

func (s *Resource) getService(c *rest.Call) (ServiceDetails, error) {
	g, err := c.Service()
	if err != nil {
		return ServiceDetails{}, err
	}
	return ServiceDetails{
		Description: fmt.Sprintf("Get service %s of farm %s", g.Name(), g.Farm.Name),
		Services:    serviceAnswer{ProfileOf(g.Farm).services().details(s, c, g)},
	}, nil
}

func (s *Resource) createService(c *rest.Call) (rest.Changed, error) {
	f, err := c.Farm()
	if err == nil {
		err = rest.HasServices(f)
	}
	if err != nil {
		return rest.Changed{}, err
	}
	return ProfileOf(f).services().create(s, c, f)
}

func (s *Resource) updateService(c *rest.Call) (rest.Changed, error) {
	g, err := c.Service()
	if err != nil {
		return rest.Changed{}, err
	}
	return ProfileOf(g.Farm).services().update(s, c, g)
}

func (s *Resource) deleteService(c *rest.Call) (rest.Done, error) {
	g, err := c.Service()
	if err != nil {
		return rest.Done{}, err
	}
	farmName, name := g.Farm.Name, g.Name()
	_, err = c.ChangeFarm(farmName, fmt.Sprintf("delete service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		g, err := rest.FindServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		if err := ProfileOf(g.Farm).services().remove(g.Farm, rest.ServiceNamed(g.Farm, name)); err != nil {
			return err
		}
		inline.Forget(cfg)
		return nil
	})
	if err != nil {
		return rest.Done{}, err
	}
	return rest.NewDone(fmt.Sprintf("Delete service %s of farm %s", name, farmName),
		fmt.Sprintf("The service %s has been deleted from farm %s.", name, farmName)), nil
}

// Moved is the new position of a service.
type Moved struct {
	Position int `json:"position"`
}

// moveService changes the matching order of services.
func (s *Resource) moveService(c *rest.Call) (rest.Object[Moved], error) {
	g, err := c.Service()
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	values, err := rest.Decode(c, &httpfarm.ServiceMove)
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	farmName, name, to := g.Farm.Name, g.Name(), values.Get("position").Number()
	_, err = c.ChangeFarm(farmName, fmt.Sprintf("move service %s of farm %s to position %d", name, farmName, to), func(cfg *farm.Config) error {
		g, err := rest.FindServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		if n := len(g.Farm.Groups()); to >= int64(n) {
			return rest.BadRequest("position: %d is not allowed, allowed are 0 to %d", to, n-1)
		}
		ProfileOf(g.Farm).services().move(g.Farm, rest.ServiceNamed(g.Farm, name), int(to))
		return nil
	})
	if err != nil {
		return rest.Object[Moved]{}, err
	}
	return rest.Object[Moved]{
		Description: fmt.Sprintf("Move service %s of farm %s", name, farmName), Params: Moved{Position: int(to)},
		Message: fmt.Sprintf("The service %s has been moved to position %d.", name, to),
		Status:  s.deps.State.StatusOf(c, farmName),
	}, nil
}
