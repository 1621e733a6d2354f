package profile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// FarmPath, ServicePath and BackendPath return the Path of errors about an object.
func FarmPath(name string) string { return fmt.Sprintf("farm %s", field.Show(name)) }

// FarmOf returns the path of the farm that a path leads through, empty for one that leads
// through none.
func FarmOf(path string) string {
	rest, is := strings.CutPrefix(path, "farm ")
	name, err := strconv.QuotedPrefix(rest)
	if !is || err != nil {
		return ""
	}
	return "farm " + name
}

// ServicePath returns the Path of a service.
func ServicePath(farmName, name string) string {
	return fmt.Sprintf("%s service %s", FarmPath(farmName), field.Show(name))
}

// BackendPath returns the Path of a backend of a service, by position from 0.
func BackendPath(farmName, service string, position int) string {
	return BackendBelow(ServicePath(farmName, service), position)
}

// BackendBelow is BackendPath for a given service path. A check calls it for each of many
// thousand backends.
func BackendBelow(service string, position int) string {
	return service + " backend " + strconv.Itoa(position)
}

// OwnBackendPath returns the Path of a backend of an l4xnat farm, by its number.
func OwnBackendPath(farmName string, number int) string {
	return fmt.Sprintf("%s backend %d", FarmPath(farmName), number)
}

// PathOfBackend returns the Path of the backend of a group at that position.
func PathOfBackend(g farm.Group, position int) string {
	if g.OfService() {
		return BackendPath(g.Farm.Name, g.Name(), position)
	}
	return OwnBackendPath(g.Farm.Name, g.Number(position))
}

// LinkPath returns the Path of errors about the check of a group.
func LinkPath(g farm.Group) string {
	if g.OfService() {
		return ServicePath(g.Farm.Name, g.Name())
	}
	return FarmPath(g.Farm.Name)
}
