package rest

import (
	"slices"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// Paths of the two kinds of groups with backends.
const (
	ServicePath = "/farms/{farm}/services/{service}"
	FarmPath    = "/farms/{farm}"
)

// Group returns the group in the path: the service, or else the farm.
func (c *Call) Group() (farm.Group, error) {
	return FindGroup(c.Config, c.Param("farm"), c.Param("service"))
}

// FindGroup finds a group by the names of its farm and service. service is empty if the
// farm has backends of its own.
func FindGroup(cfg *farm.Config, name, service string) (farm.Group, error) {
	if service != "" {
		return FindServiceGroup(cfg, name, service)
	}
	f, err := FindFarm(cfg, name)
	switch {
	case err != nil:
		return farm.Group{}, err
	case f.HasServices():
		return farm.Group{}, BadRequest("the farm %s is of profile %s, whose backends and sessions belong to its services: name one of these too", name, f.Profile)
	}
	return f.Own(), nil
}

// HasServices rejects farms that have backends of their own.
func HasServices(f *farm.Farm) error {
	if f.HasServices() {
		return nil
	}
	return BadRequest("farm %s has profile %s and therefore no services: leave the service out of the path", f.Name, f.Profile)
}

// findBackend returns the position of the backend with that id.
func findBackend(g farm.Group, id string) (int, error) {
	n, err := strconv.Atoi(id)
	at := -1
	if err == nil && strconv.Itoa(n) == id {
		at = g.Position(n)
	}
	if at < 0 {
		return 0, NotFound("the backend %s does not exist in the %s", Quote(id), g)
	}
	return at, nil
}

// BackendAt is the backend in the path.
type BackendAt struct {
	Farm, service string // names; service is empty if the farm has none
	Number        int    // its public number
	Position      int
	// ID is the stable ID of the backend at that position when the request was read. The
	// change must find the same backend there.
	ID uint32
	// group is the description of the group in messages.
	group string
}

// Backend returns the backend in the path.
func (c *Call) Backend() (BackendAt, error) {
	g, err := c.Group()
	if err != nil {
		return BackendAt{}, err
	}
	return AtBackend(g, c.Param("backend"))
}

// AtBackend returns the backend of a group with that id.
func AtBackend(g farm.Group, id string) (BackendAt, error) {
	at, err := findBackend(g, id)
	if err != nil {
		return BackendAt{}, err
	}
	return BackendAt{Farm: g.Farm.Name, service: g.Name(), Number: g.Number(at), Position: at, ID: g.Backends()[at].ID, group: g.String()}, nil
}

// In finds the backend and its group in a possibly newer configuration. If its number now
// belongs to another backend, the call lost a race and is rejected.
func (b *BackendAt) In(cfg *farm.Config) (farm.Group, *farm.Backend, error) {
	g, err := FindGroup(cfg, b.Farm, b.service)
	if err != nil {
		return g, nil, err
	}
	list := g.Backends()
	at := g.Position(b.Number)
	if at < 0 || list[at].ID != b.ID {
		return g, nil, Refuse(409, "the backends of %s were changed by someone else: read them again", b.group)
	}
	b.Position = at
	return g, &list[at], b.changeable(g, &list[at])
}

// String describes the backend in messages.
func (b BackendAt) String() string {
	return "backend " + strconv.Itoa(b.Number) + " of " + b.group
}

// PartOf returns the number of the backend whose host name produced b, if any.
func PartOf(g farm.Group, b *farm.Backend) (number int, is bool) {
	list := g.Backends()
	for k := range list {
		if b.Of != 0 && list[k].ID == b.Of {
			return g.Number(k), true
		}
	}
	return 0, false
}

// changeable rejects changes of a backend that was created from a host name.
func (b BackendAt) changeable(g farm.Group, of *farm.Backend) error {
	number, is := PartOf(g, of)
	if !is {
		return nil
	}
	return BadRequest("the %s is one of the addresses of a name: change backend %d, whose name it is", b, number)
}

// Service returns the service in the path, as a group of its farm.
func (c *Call) Service() (farm.Group, error) {
	return FindServiceGroup(c.Config, c.Param("farm"), c.Param("service"))
}

// FindFarm finds a farm by name, regardless of the caller.
func FindFarm(cfg *farm.Config, name string) (*farm.Farm, error) {
	if f := cfg.Farm(name); f != nil {
		return f, nil
	}
	return nil, noFarm(name)
}

// FindServiceGroup finds a service of a farm, as a group.
func FindServiceGroup(cfg *farm.Config, name, service string) (farm.Group, error) {
	f, err := FindFarm(cfg, name)
	if err == nil {
		err = HasServices(f)
	}
	if err != nil {
		return farm.Group{}, err
	}
	if at := ServiceNamed(f, service); at >= 0 {
		return f.Groups()[at], nil
	}
	return farm.Group{}, NotFound("the service %s does not exist in the farm %s", Quote(service), f.Name)
}

// ServiceNamed returns the position of a service in a farm, -1 if it is missing.
func ServiceNamed(f *farm.Farm, name string) int {
	return slices.IndexFunc(f.Groups(), func(g farm.Group) bool { return g.Name() == name })
}
