package validate

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// dnsProfile implements Profile for gslb farms.
type dnsProfile struct{}

func (dnsProfile) Name() farm.Profile { return farm.ProfileGSLB }

func (dnsProfile) Farm() Bodies[farm.Farm] {
	return Bodies[farm.Farm]{&DNSFarmCreate, &DNSFarmUpdate, &DNSFarmDocument}
}

func (dnsProfile) Backend() Bodies[farm.Backend] {
	return Bodies[farm.Backend]{&DNSBackendCreate, &DNSBackendUpdate, &DNSBackendDocument}
}

func (dnsProfile) TakesBackend(farm.Group) error { return nil }

func (dnsProfile) Session(farm.Group, any) (string, error) {
	return "", errors.New("session: clients of a gslb farm have no sessions; algorithm hash keeps the nets of clients with a backend")
}

func (dnsProfile) begin(f *farm.Farm, _ farm.Profile) { dnsOf(f) }

func (dnsProfile) setPorts(f *farm.Farm, v field.Value) { setOnePort(f, v) }

func (dnsProfile) portsProblem(sent field.Values[farm.Farm]) string {
	return onePortProblem(sent, farm.ProfileGSLB)
}

func (dnsProfile) ListensOn(f *farm.Farm) string {
	if port := dnsSeen(f).EffectiveTLSPort(); port != 0 {
		return fmt.Sprintf("%s and dot_port %d", f.AddrPort(), port)
	}
	return f.AddrPort().String()
}

func (dnsProfile) oneVersion(*farm.Farm) string { return "" }

func (dnsProfile) check(f *farm.Farm, local []netip.Prefix, yield func(field.Error) bool) bool {
	path := FarmPath(f.Name)
	if !DNSFarmDocument.Verify(path, f, nil, yield) {
		return false
	}
	if f.Global == nil {
		return yield(field.Error{Path: path, Field: "profile", Message: "profile gslb needs its settings; they are missing"})
	}
	if f.Global.EffectiveTLSPort() == f.VPort && !yield(field.Error{Path: path, Field: "dot_port", Message: fmt.Sprintf("dot_port must be another port than vport, both are %d", f.VPort)}) {
		return false
	}
	return checkDNSServices(f, local, yield) && checkZones(f, yield)
}

func (dnsProfile) groupWarnings(*farm.Farm, int, warn) {}

func (dnsProfile) backendWarnings(farm.Group, int, []netip.Prefix, warn) {}

func (dnsProfile) priorityWarning(farm.Group, int) string { return "" }

// farmWarnings adds warnings about zones.
func (dnsProfile) farmWarnings(f *farm.Farm, add warn) {
	if f.Global == nil {
		return
	}
	for i := range f.Global.Zones {
		add("zones", ZoneWarning(f.Global, &f.Global.Zones[i]))
	}
}
