package system

import (
	"net"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/check"
)

func (s *Resource) idsOperations() []*rest.Operation {
	return []*rest.Operation{rest.Op(rest.Get, "/ids", rbac.Open, "Get the names of all objects", s.listIDs)}
}

// IDs is a tree of object names, from which the family's command line completes names.
// Leaves and empty branches are null.
type IDs map[string]any

// branch returns the tree, or nil if it is empty.
func branch(names IDs) any {
	if len(names) == 0 {
		return nil
	}
	return names
}

// ownService is the family's name for the only service of farms without services.
const ownService = "default_service"

func (s *Resource) listIDs(c *rest.Call) (rest.Object[IDs], error) {
	guardians := IDs{}
	for _, check := range check.All(c.Config) {
		if c.ListsCheck(c.Config, check.Name) {
			guardians[check.Name] = nil
		}
	}
	out := IDs{"farmguardians": branch(guardians), "interfaces": interfaceIDs(), "system": IDs{"backup": nil, "logs": branch(s.logIDs(c))}}
	farms, certificates := IDs{}, IDs{}
	for _, f := range c.Farms() {
		farms[f.Name] = farmIDs(&f)
	}
	for _, v := range s.deps.Certificates.List() {
		if c.SeesCertificate(c.Config, v.Name) {
			certificates[v.Name] = nil
		}
	}
	out["farms"], out["certificates"] = branch(farms), branch(certificates)
	return rest.Object[IDs]{Description: c.Summary(), Params: out}, nil
}

func farmIDs(f *farm.Farm) IDs {
	services := IDs{}
	for _, g := range f.Groups() {
		name := ownService
		if g.OfService() {
			name = g.Name()
		}
		backends := IDs{}
		for _, number := range g.Numbers() {
			backends[strconv.Itoa(number)] = nil
		}
		services[name] = IDs{"backends": branch(backends)}
		if check := g.CheckedBy(); check != "" {
			services[name] = IDs{"backends": branch(backends), "fg": IDs{check: nil}}
		}
	}
	out := IDs{"services": branch(services)}
	if g := f.Zones(); g != nil {
		zones := IDs{}
		for i := range g.Zones {
			zones[g.Zones[i].Name] = nil // there may be a million records
		}
		out["zones"] = branch(zones)
	}
	if t := f.ListenerTLS(); t != nil {
		certificates := IDs{}
		for _, name := range t.Certificates {
			certificates[name] = nil
		}
		out["certificates"] = branch(certificates)
	}
	return out
}

// interfaceIDs returns the network interfaces by kind, derived from their names.
func interfaceIDs() IDs {
	kinds := map[string]IDs{"nic": {}, "vlan": {}, "virtual": {}, "bonding": {}}
	all, _ := net.Interfaces() // empty on errors
	for _, one := range all {
		kind := "nic"
		switch {
		case one.Flags&net.FlagLoopback != 0:
			continue
		case strings.Contains(one.Name, "."):
			kind = "vlan"
		}
		kinds[kind][one.Name] = nil
	}
	out := IDs{}
	for kind, names := range kinds {
		out[kind] = branch(names)
	}
	return out
}
