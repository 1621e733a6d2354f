package farms

import (
	"net/netip"
	"reflect"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// l4Farms implements profile for l4xnat farms.
type l4Farms struct{ profile.Profile }

func (l4Farms) words() []farm.Profile { return []farm.Profile{farm.ProfileL4} }

func (l4Farms) module() Module { return LSLB }

func (l4Farms) details(s *Resource, c *rest.Call, description string, f *farm.Farm, of detail) any {
	out := L4FarmDetails{Description: description, Params: s.l4FarmView(c, f), Backends: []L4BackendView{}, IPDS: noIPDS()}
	g := f.Own()
	for i := range g.Backends() {
		out.Backends = append(out.Backends, s.l4BackendView(c, g, i))
	}
	return out
}

// summary returns the details, as there is nothing to omit.
func (p l4Farms) summary(s *Resource, c *rest.Call, description string, f *farm.Farm) any {
	return p.details(s, c, description, f, everything)
}

func (l4Farms) shapes() (details, summary reflect.Type) {
	return reflect.TypeFor[L4FarmDetails](), reflect.TypeFor[L4FarmDetails]()
}

func (l4Farms) services() services { return nil }

func (l4Farms) backend(s *Resource, c *rest.Call, g farm.Group, i int) any {
	return s.l4BackendView(c, g, i)
}

func (l4Farms) backendShape() reflect.Type { return reflect.TypeFor[L4BackendView]() }

func (l4Farms) created(f *farm.Farm, params rest.Sent) {
	params["vport"], params["protocol"] = f.L4.PortsText(), f.L4.Protocol
}

func (l4Farms) source(f *farm.Farm) netip.Addr { return f.L4.Source }

func (l4Farms) rules(f *farm.Farm) map[string]int {
	return map[string]int{"sessions": len(state.StaticSessions(f.Own()))}
}

func (l4Farms) mayHaveCertificates(f *farm.Farm) error {
	return rest.BadRequest("the farm %s is an l4xnat farm: it passes TLS through and has no certificates", f.Name)
}

func (l4Farms) carrying(f *farm.Farm) FarmExplanation {
	carrier, why := f.Carrier()
	return FarmExplanation{
		FarmName: f.Name, Profile: f.Profile, DataPath: askedPath(f.L4), Carrier: carrier, Why: why,
		Possible: []PathPossibility{possibility(farm.DataPathUserspace, f.L4.NotUserspace()), possibility(farm.DataPathKernel, f.NotKernel())},
	}
}

// question accepts an empty body, as no field is required.
func (l4Farms) question(body map[string]any) (explain.Question, error) {
	q, err := readQuestion(body)
	if err != nil {
		return q, err
	}
	return q, checkL4Question(body, &q)
}
