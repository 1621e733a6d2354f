package farms

import (
	"net/netip"
	"reflect"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/validate/gslbfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// dnsFarms implements profile for gslb farms.
type dnsFarms struct{ profile.Profile }

func (dnsFarms) words() []farm.Profile { return []farm.Profile{farm.ProfileGSLB} }

func (dnsFarms) module() Module { return GSLB }

func (dnsFarms) details(s *Resource, c *rest.Call, description string, f *farm.Farm, of detail) any {
	out := DNSFarmDetails{Description: description, Params: s.dnsFarmView(c, f), Services: []DNSServiceView{}, Zones: []ZoneView{}, IPDS: noIPDS()}
	for _, g := range f.Groups() {
		out.Services = append(out.Services, s.dnsServiceView(c, g))
	}
	for i := range f.Zones().Zones {
		out.Zones = append(out.Zones, zoneView(&f.Zones().Zones[i], of))
	}
	return out
}

func (dnsFarms) summary(s *Resource, c *rest.Call, description string, f *farm.Farm) any {
	out := DNSFarmSummary{Description: description, Params: s.dnsFarmView(c, f), Services: []ServiceName{}, Zones: []ServiceName{}, IPDS: noIPDS()}
	for _, g := range f.Groups() {
		out.Services = append(out.Services, ServiceName{ID: g.Name()})
	}
	for i := range f.Zones().Zones {
		out.Zones = append(out.Zones, ServiceName{ID: f.Zones().Zones[i].Name})
	}
	return out
}

func (dnsFarms) shapes() (details, summary reflect.Type) {
	return reflect.TypeFor[DNSFarmDetails](), reflect.TypeFor[DNSFarmSummary]()
}

var dnsServices = servicesOf[farm.DNSService, DNSServiceView]{
	creation: &gslbfarm.ServiceCreate, change: &gslbfarm.ServiceUpdate,
	list: func(f *farm.Farm) *[]farm.DNSService { return &f.Global.Services }, view: (*Resource).dnsServiceView,
	rules: func(*farm.DNSService) map[string]int { return nil },
	kept: func(f *farm.Farm, name string) error {
		if zones := f.Global.UsedBy(name); len(zones) > 0 {
			return rest.BadRequest("the service %s answers for names of the zone %s: remove its records of type DYNA first", name, strings.Join(zones, ", "))
		}
		return nil
	},
}

func (dnsFarms) services() services { return dnsServices }

func (dnsFarms) backend(s *Resource, c *rest.Call, g farm.Group, i int) any {
	return s.dnsBackendView(c, g, i)
}

func (dnsFarms) backendShape() reflect.Type { return reflect.TypeFor[DNSBackendView]() }

func (dnsFarms) created(f *farm.Farm, params rest.Sent) { params["vport"] = f.VPort }

func (dnsFarms) source(*farm.Farm) netip.Addr { return netip.Addr{} }

func (dnsFarms) rules(*farm.Farm) map[string]int { return nil }

func (dnsFarms) mayHaveCertificates(f *farm.Farm) error {
	if f.ListenerTLS() != nil {
		return nil
	}
	return rest.BadRequest("the farm %s has no certificates: set its dot to true first", f.Name)
}

func (dnsFarms) carrying(f *farm.Farm) FarmExplanation {
	const only = "a farm of profile gslb is served by the engine"
	return FarmExplanation{FarmName: f.Name, Profile: state.ShownProfile(f), DataPath: farm.DataPathAuto, Carrier: farm.DataPathUserspace, Why: only,
		Possible: []PathPossibility{possibility(farm.DataPathUserspace, ""), possibility(farm.DataPathKernel, only)}}
}

// question reads the DNS question to explain.
func (dnsFarms) question(body map[string]any) (explain.Question, error) {
	if len(body) == 0 {
		return explain.Question{}, rest.Help(explainFields{})
	}
	q, err := readQuestion(body)
	if err != nil {
		return q, err
	}
	for _, name := range []string{"url", "method", "headers", "sni", "to", "protocol"} {
		if body[name] != nil {
			return q, rest.BadRequest("%s is for farms of other profiles: a gslb farm is asked for a name, and a type", name)
		}
	}
	if q.Name == "" {
		return q, rest.BadRequest("name is required: what a client asks for, as www.example.com")
	}
	return q, nil
}
