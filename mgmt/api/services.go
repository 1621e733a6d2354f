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

// services is what the API knows of the services of farms of one profile; a
// profile whose farms have some gives a servicesOf.
type services interface {
	// bodies are what is sent about one when it is made and when it is changed.
	bodies() (create, update fields)
	// details is the answer about one, shape its type.
	details(s *Server, g farm.Group) any
	shape() reflect.Type

	create(c *call, f *farm.Farm) (Changed, error)
	update(c *call, g farm.Group) (Changed, error)
	remove(f *farm.Farm, position int)
	move(f *farm.Farm, from, to int)
}

// servicesOf are services that a farm keeps as a list of T, in the order of its
// groups, and that are answered as a V.
type servicesOf[T, V any] struct {
	creation, change *validate.Table[T]
	list             func(*farm.Farm) *[]T
	view             func(*Server, farm.Group) V
	// rules is how many items each list has that is changed item by item.
	rules func(*T) map[string]int
}

func (l servicesOf[T, V]) bodies() (create, update fields)     { return l.creation, l.change }
func (l servicesOf[T, V]) details(s *Server, g farm.Group) any { return l.view(s, g) }
func (l servicesOf[T, V]) shape() reflect.Type                 { return reflect.TypeFor[V]() }

func (l servicesOf[T, V]) create(c *call, f *farm.Farm) (Changed, error) {
	values, err := decode(c, l.creation)
	if err != nil {
		return Changed{}, err
	}
	farmName, name := f.Name, values.Get("id").Text()
	_, err = c.change(fmt.Sprintf("create service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		f, err := findFarm(cfg, farmName)
		if err != nil {
			return err
		}
		if err := sameProfile(f, c.cfg.Farm(farmName)); err != nil {
			return err
		}
		if groupNamed(f, name) >= 0 {
			return badRequest("id: a service named %s exists already in the farm %s", name, farmName)
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
		return Changed{}, err
	}
	return Changed{
		Description: "New service of farm " + farmName, Params: values.Sent(),
		Message: fmt.Sprintf("The service %s has been created in farm %s.", name, farmName),
		Status:  c.s.statusOf(c, farmName), Warning: c.warning(validate.ServicePath(farmName, name)),
	}, nil
}

func (l servicesOf[T, V]) update(c *call, g farm.Group) (Changed, error) {
	farmName, name := g.Farm.Name, g.Name()
	values, err := decodeBeside(c, l.change, l.rules(&(*l.list(g.Farm))[groupNamed(g.Farm, name)]), func(string) error { return nil })
	if err != nil {
		return Changed{}, err
	}
	_, err = c.change(fmt.Sprintf("modify service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		found, err := findServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		if err := sameProfile(found.Farm, g.Farm); err != nil {
			return err
		}
		return values.Apply(&(*l.list(found.Farm))[groupNamed(found.Farm, name)])
	})
	if err != nil {
		return Changed{}, err
	}
	return Changed{
		Description: fmt.Sprintf("Modify service %s of farm %s", name, farmName), Params: values.Sent(),
		Message: fmt.Sprintf("Some parameters have been changed in service %s of farm %s.", name, farmName),
		Status:  c.s.statusOf(c, farmName), Warning: c.warning(validate.ServicePath(farmName, name)),
	}, nil
}

func (l servicesOf[T, V]) remove(f *farm.Farm, position int) {
	all := l.list(f)
	*all = slices.Delete(*all, position, position+1)
}

func (l servicesOf[T, V]) move(f *farm.Farm, from, to int) {
	all := l.list(f)
	moved := (*all)[from]
	*all = slices.Insert(slices.Delete(*all, from, from+1), to, moved)
}

// sameProfile refuses a change of a farm that was made anew with another profile
// since the request was read.
func sameProfile(now, was *farm.Farm) error {
	if was == nil || now.Profile == was.Profile {
		return nil
	}
	return refuse(409, "the farm %s was changed by someone else: read it again", now.Name)
}

// groupNamed is the position of a service of a farm, -1 without one.
func groupNamed(f *farm.Farm, name string) int {
	return slices.IndexFunc(f.Groups(), func(g farm.Group) bool { return g.Name() == name })
}

// eachServices lists the services of the profiles that have some.
func eachServices[T any](say func(services) []T) []T {
	return eachProfile(func(p profile) []T {
		if own := p.services(); own != nil {
			return say(own)
		}
		return nil
	})
}

// serviceFields are those of a service of a farm of any profile.
type serviceFields struct{ creation bool }

// Params lists the fields for the document: what two profiles have comes twice.
func (of serviceFields) Params() []validate.Param {
	return eachServices(func(own services) []validate.Param {
		create, update := own.bodies()
		if of.creation {
			return create.Params()
		}
		return update.Params()
	})
}

func (s *Server) serviceOperations() []*operation {
	const one = "/farms/{farm}/services/{service}"
	return []*operation{
		op(post, "/farms/{farm}/services", rbac.FarmModify, "Create a service", s.createService).body(serviceFields{creation: true}).created(),
		op(get, one, rbac.Open, "Get a service", s.getService),
		op(put, one, rbac.FarmModify, "Modify a service", s.updateService).body(serviceFields{}),
		op(del, one, rbac.FarmModify, "Delete a service", s.deleteService),
		op(post, one+"/actions", rbac.FarmModify, "Move a service", s.moveService).body(&validate.ServiceMove),
	}
}

// ServiceDetails is the answer about one service.
type ServiceDetails struct {
	Description string        `json:"description"`
	Services    serviceAnswer `json:"services"`
}

// serviceAnswer is an answer about one service, in the shape of the profile of its
// farm.
type serviceAnswer struct{ of any }

// MarshalJSON writes the answer of the profile.
func (a serviceAnswer) MarshalJSON() ([]byte, error) { return json.Marshal(a.of) }

// Schema says that the answer has one of the shapes.
func (serviceAnswer) Schema(r huma.Registry) *huma.Schema {
	return oneOf(r, func(p profile) reflect.Type {
		if own := p.services(); own != nil {
			return own.shape()
		}
		return nil
	})
}

func (s *Server) getService(c *call) (ServiceDetails, error) {
	g, err := c.service()
	if err != nil {
		return ServiceDetails{}, err
	}
	return ServiceDetails{
		Description: fmt.Sprintf("Get service %s of farm %s", g.Name(), g.Farm.Name),
		Services:    serviceAnswer{profileOf(g.Farm).services().details(s, g)},
	}, nil
}

func (s *Server) createService(c *call) (Changed, error) {
	f, err := c.farm()
	if err == nil {
		err = hasServices(f)
	}
	if err != nil {
		return Changed{}, err
	}
	return profileOf(f).services().create(c, f)
}

func (s *Server) updateService(c *call) (Changed, error) {
	g, err := c.service()
	if err != nil {
		return Changed{}, err
	}
	return profileOf(g.Farm).services().update(c, g)
}

// statusOf is the status of a farm after a change, "" when it is gone.
func (s *Server) statusOf(c *call, name string) farm.Status {
	f := c.cfg.Farm(name)
	if f == nil {
		return ""
	}
	return s.status(f)
}

func (s *Server) deleteService(c *call) (Done, error) {
	g, err := c.service()
	if err != nil {
		return Done{}, err
	}
	farmName, name := g.Farm.Name, g.Name()
	_, err = c.change(fmt.Sprintf("delete service %s of farm %s", name, farmName), func(cfg *farm.Config) error {
		g, err := findServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		profileOf(g.Farm).services().remove(g.Farm, groupNamed(g.Farm, name))
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
	g, err := c.service()
	if err != nil {
		return Object[Moved]{}, err
	}
	values, err := decode(c, &validate.ServiceMove)
	if err != nil {
		return Object[Moved]{}, err
	}
	farmName, name, to := g.Farm.Name, g.Name(), values.Get("position").Number()
	_, err = c.change(fmt.Sprintf("move service %s of farm %s to position %d", name, farmName, to), func(cfg *farm.Config) error {
		g, err := findServiceGroup(cfg, farmName, name)
		if err != nil {
			return err
		}
		if n := len(g.Farm.Groups()); to >= int64(n) {
			return badRequest("position: %d is not allowed, allowed are 0 to %d", to, n-1)
		}
		profileOf(g.Farm).services().move(g.Farm, groupNamed(g.Farm, name), int(to))
		return nil
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
