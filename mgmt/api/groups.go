package api

import (
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
)

// Where the backends of the two kinds of groups are.
const (
	servicePath = "/farms/{farm}/services/{service}"
	farmPath    = "/farms/{farm}"
)

// group returns the group the path names: the service in it or, without one,
// the farm.
func (c *call) group() (farm.Group, error) {
	return findGroup(c.cfg, c.param("farm"), c.param("service"))
}

// findGroup finds a group by the name of its farm and of its service, which is
// empty for a farm that has backends of its own.
func findGroup(cfg *farm.Config, name, service string) (farm.Group, error) {
	if service != "" {
		return findServiceGroup(cfg, name, service)
	}
	f, err := findFarm(cfg, name)
	switch {
	case err != nil:
		return farm.Group{}, err
	case f.HasServices():
		return farm.Group{}, badRequest("the farm %s is an %s farm, whose backends and sessions belong to its services: name one of these too", name, f.Profile)
	}
	return f.Own(), nil
}

// hasServices refuses farms whose backends are their own.
func hasServices(f *farm.Farm) error {
	if f.HasServices() {
		return nil
	}
	return badRequest("the farm %s is an %s farm and has no services: its backends and sessions are its own, name no service", f.Name, f.Profile)
}

// findBackend finds the position an id names.
func findBackend(g farm.Group, id string) (int, error) {
	n, err := strconv.Atoi(id)
	at := -1
	if err == nil && strconv.Itoa(n) == id {
		at = g.Position(n)
	}
	if at < 0 {
		return 0, notFound("the backend %s does not exist in the %s", quoteName(id), g)
	}
	return at, nil
}

// backendAt is a backend as the path names it.
type backendAt struct {
	farm, service string // names; the second is empty where the farm has none
	number        int    // what it is called
	position      int
	// id is the ID of what stood at that position when the request was read: the
	// change must find the same backend there.
	id uint32
	// group names where it is in messages.
	group string
}

func (c *call) backend() (backendAt, error) {
	g, err := c.group()
	if err != nil {
		return backendAt{}, err
	}
	return atBackend(g, c.param("backend"))
}

// atBackend is the backend with that id of a group.
func atBackend(g farm.Group, id string) (backendAt, error) {
	at, err := findBackend(g, id)
	if err != nil {
		return backendAt{}, err
	}
	return backendAt{farm: g.Farm.Name, service: g.Name(), number: g.Number(at), position: at, id: g.Backends()[at].ID, group: g.String()}, nil
}

// in finds the backend in a configuration that may be newer, and where it is
// there. A number that means another backend by now is a lost race, not a change
// to that one.
func (b *backendAt) in(cfg *farm.Config) (farm.Group, *farm.Backend, error) {
	g, err := findGroup(cfg, b.farm, b.service)
	if err != nil {
		return g, nil, err
	}
	list := g.Backends()
	at := g.Position(b.number)
	if at < 0 || list[at].ID != b.id {
		return g, nil, refuse(409, "the backends of %s were changed by someone else: read them again", b.group)
	}
	b.position = at
	return g, &list[at], b.changeable(g, &list[at])
}

func (b backendAt) String() string {
	return "backend " + strconv.Itoa(b.number) + " of " + b.group
}
