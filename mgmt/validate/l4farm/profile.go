package l4farm

import (
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Profile implements Profile for l4xnat farms.
type Profile struct{}

func (Profile) Name() farm.Profile { return farm.ProfileL4 }

func (Profile) Farm() profile.Bodies[farm.Farm] {
	return profile.Bodies[farm.Farm]{Create: &Create, Update: &Update, Document: &Document}
}

func (Profile) Backend() profile.Bodies[farm.Backend] {
	return profile.Bodies[farm.Backend]{Create: &BackendCreate, Update: &BackendUpdate, Document: &BackendDocument}
}

func (Profile) TakesBackend(farm.Group) error { return nil }

func (Profile) Session(g farm.Group, session any) (string, error) {
	return StaticSession(g.Farm.L4, session)
}

func (Profile) Begin(f *farm.Farm, _ farm.Profile) { profile.EditL4(f) }

func (Profile) SetPorts(f *farm.Farm, v field.Value) { setPorts(f, v) }

func (Profile) PortsProblem(sent field.Values[farm.Farm]) string {
	return contradiction(sent.Get("vport").Text(), farm.L4Protocol(sent.Get("protocol").Text()))
}

func (Profile) ListensOn(f *farm.Farm) string {
	l := profile.ReadL4(f)
	return fmt.Sprintf("%s protocol %s port %s", f.VIP, l.Protocol, l.PortsText())
}

func (Profile) OneVersion(f *farm.Farm) string { return oneVersion(f.L4) }

func (Profile) Check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	return checkFarm(f, local, yield)
}

func (Profile) FarmWarnings(f *farm.Farm, add profile.Warn) { warnings(f, add) }

func (Profile) GroupWarnings(*farm.Farm, int, profile.Warn) {}

func (Profile) PriorityWarning(g farm.Group, i int) string {
	return priorityWarning(g.Backends(), i)
}

func (Profile) BackendWarnings(g farm.Group, i int, local []netip.Prefix, add profile.Warn) {
	backendWarnings(g.Farm, &g.Backends()[i], local, add)
}
