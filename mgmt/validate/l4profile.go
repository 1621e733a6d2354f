package validate

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// l4Profile implements Profile for l4xnat farms.
type l4Profile struct{}

func (l4Profile) Name() farm.Profile { return farm.ProfileL4 }

func (l4Profile) Farm() Bodies[farm.Farm] {
	return Bodies[farm.Farm]{&L4FarmCreate, &L4FarmUpdate, &L4FarmDocument}
}

func (l4Profile) Backend() Bodies[farm.Backend] {
	return Bodies[farm.Backend]{&L4BackendCreate, &L4BackendUpdate, &L4BackendDocument}
}

func (l4Profile) TakesBackend(farm.Group) error { return nil }

func (l4Profile) Session(g farm.Group, session any) (string, error) {
	return L4StaticSession(g.Farm.L4, session)
}

func (l4Profile) begin(f *farm.Farm, _ farm.Profile) { l4Of(f) }

func (l4Profile) setPorts(f *farm.Farm, v field.Value) { setPorts(f, v) }

func (l4Profile) portsProblem(sent field.Values[farm.Farm]) string {
	return contradiction(sent.Get("vport").Text(), farm.L4Protocol(sent.Get("protocol").Text()))
}

func (l4Profile) ListensOn(f *farm.Farm) string {
	l := l4Seen(f)
	return fmt.Sprintf("%s protocol %s port %s", f.VIP, l.Protocol, l.PortsText())
}

func (l4Profile) oneVersion(f *farm.Farm) string { return l4OneVersion(f.L4) }

func (l4Profile) check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	return checkL4(f, local, yield)
}

func (l4Profile) farmWarnings(f *farm.Farm, add warn) { l4Warnings(f, add) }

func (l4Profile) groupWarnings(*farm.Farm, int, warn) {}

func (l4Profile) priorityWarning(g farm.Group, i int) string {
	return l4PriorityWarning(g.Backends(), i)
}

func (l4Profile) backendWarnings(g farm.Group, i int, local []netip.Prefix, add warn) {
	l4BackendWarnings(g.Farm, &g.Backends()[i], local, add)
}
