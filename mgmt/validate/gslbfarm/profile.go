package gslbfarm

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Profile implements Profile for gslb farms.
type Profile struct{}

func (Profile) Name() farm.Profile { return farm.ProfileGSLB }

func (Profile) Farm() profile.Bodies[farm.Farm] {
	return profile.Bodies[farm.Farm]{Create: &Create, Update: &Update, Document: &Document}
}

func (Profile) Backend() profile.Bodies[farm.Backend] {
	return profile.Bodies[farm.Backend]{Create: &BackendCreate, Update: &BackendUpdate, Document: &BackendDocument}
}

func (Profile) TakesBackend(farm.Group) error { return nil }

func (Profile) Session(farm.Group, any) (string, error) {
	return "", errors.New("session: clients of a gslb farm have no sessions; algorithm hash keeps the nets of clients with a backend")
}

func (Profile) Begin(f *farm.Farm, _ farm.Profile) { edit(f) }

func (Profile) SetPorts(f *farm.Farm, v field.Value) { profile.SetOnePort(f, v) }

func (Profile) PortsProblem(sent field.Values[farm.Farm]) string {
	return profile.OnePortProblem(sent, farm.ProfileGSLB)
}

func (Profile) ListensOn(f *farm.Farm) string {
	if port := read(f).EffectiveTLSPort(); port != 0 {
		return fmt.Sprintf("%s and dot_port %d", f.AddrPort(), port)
	}
	return f.AddrPort().String()
}

func (Profile) OneVersion(*farm.Farm) string { return "" }

func (Profile) Check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	path := profile.FarmPath(f.Name)
	if !Document.Verify(path, f, nil, yield) {
		return false
	}
	if f.Global == nil {
		return yield(field.Error{Path: path, Field: "profile", Message: "profile gslb needs its settings; they are missing"})
	}
	if f.Global.EffectiveTLSPort() == f.VPort && !yield(field.Error{Path: path, Field: "dot_port", Message: fmt.Sprintf("dot_port must be another port than vport, both are %d", f.VPort)}) {
		return false
	}
	return checkServices(f, local, yield) && checkZones(f, yield)
}

func (Profile) GroupWarnings(*farm.Farm, int, profile.Warn) {}

func (Profile) BackendWarnings(farm.Group, int, []netip.Prefix, profile.Warn) {}

func (Profile) PriorityWarning(farm.Group, int) string { return "" }

// FarmWarnings adds warnings about zones.
func (Profile) FarmWarnings(f *farm.Farm, add profile.Warn) {
	if f.Global == nil {
		return
	}
	for i := range f.Global.Zones {
		add("zones", ZoneWarning(f.Global, &f.Global.Zones[i]))
	}
}
