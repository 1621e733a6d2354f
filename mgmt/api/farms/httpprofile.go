package farms

import (
	"net/netip"
	"reflect"
	"slices"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// httpFarms implements profile for http farms.
type httpFarms struct{ profile.Profile }

func (httpFarms) words() []farm.Profile { return []farm.Profile{farm.ProfileHTTP, farm.ProfileHTTPS} }

func (httpFarms) module() Module { return LSLB }

func (httpFarms) details(s *Resource, c *rest.Call, description string, f *farm.Farm, of detail) any {
	out := FarmDetails{Description: description, Params: s.farmView(c, f), Services: []ServiceView{}, IPDS: noIPDS()}
	for _, g := range f.Groups() {
		out.Services = append(out.Services, s.serviceView(c, g))
	}
	return out
}

func (httpFarms) summary(s *Resource, c *rest.Call, description string, f *farm.Farm) any {
	out := FarmSummary{Description: description, Params: s.farmView(c, f), Services: []ServiceName{}, IPDS: noIPDS()}
	for _, g := range f.Groups() {
		out.Services = append(out.Services, ServiceName{ID: g.Name()})
	}
	return out
}

func (httpFarms) shapes() (details, summary reflect.Type) {
	return reflect.TypeFor[FarmDetails](), reflect.TypeFor[FarmSummary]()
}

var httpServices = servicesOf[farm.Service, ServiceView]{
	creation: &httpfarm.ServiceCreate, change: &httpfarm.ServiceUpdate,
	list: func(f *farm.Farm) *[]farm.Service { return &f.HTTP.Services }, view: (*Resource).serviceView, rules: rulesOfService,
}

func (httpFarms) services() services { return httpServices }

func (httpFarms) backend(s *Resource, c *rest.Call, g farm.Group, i int) any {
	return s.backendView(c, g, i)
}

func (httpFarms) backendShape() reflect.Type { return reflect.TypeFor[BackendView]() }

func (httpFarms) created(f *farm.Farm, params rest.Sent) { params["vport"] = f.VPort }

func (httpFarms) source(*farm.Farm) netip.Addr { return netip.Addr{} }

func (httpFarms) rules(f *farm.Farm) map[string]int {
	if f.HTTP == nil {
		return nil
	}
	return countRules(&f.HTTP.HeaderRules, httpfarm.AddRequest.Farm, httpfarm.RemoveRequest.Farm)
}

func (httpFarms) mayHaveCertificates(f *farm.Farm) error {
	if f.HTTPS() {
		return nil
	}
	return rest.BadRequest("the farm %s has no certificates: set its listener to https first", f.Name)
}

func (httpFarms) carrying(f *farm.Farm) FarmExplanation {
	const only = "a farm of profile http is served by the engine"
	return FarmExplanation{FarmName: f.Name, Profile: state.ShownProfile(f), DataPath: farm.DataPathAuto, Carrier: farm.DataPathUserspace, Why: only,
		Possible: []PathPossibility{possibility(farm.DataPathUserspace, ""), possibility(farm.DataPathKernel, only)}}
}

func (httpFarms) question(body map[string]any) (explain.Question, error) {
	if len(body) == 0 {
		return explain.Question{}, rest.Help(explainFields{})
	}
	q, err := readQuestion(body)
	if err != nil {
		return q, err
	}
	switch _, err := netip.ParseAddr(q.From); {
	case q.Name != "" || q.Type != "":
		return q, rest.BadRequest("name and type are for farms of profile gslb: a farm of profile http is asked for a path, as /, or a whole URL")
	case q.URL == "":
		return q, rest.BadRequest("url is required")
	case q.To != "":
		return q, rest.BadRequest("to is for farms of profile l4xnat: a farm of profile http has one address")
	case q.Protocol != "":
		return q, rest.BadRequest("protocol is for farms of profile l4xnat: a farm of profile http takes tcp")
	case q.From != "" && err != nil:
		return q, rest.BadRequest("from must be an address, got %s", rest.Quote(q.From))
	}
	if q.Headers, err = fieldLines(body, "headers"); err != nil {
		return q, err
	}
	if q.Answer, err = fieldLines(body, "answer"); err != nil {
		return q, err
	}
	size := len(q.Method) + len(q.URL) + len(q.SNI)
	for _, line := range slices.Concat(q.Headers, q.Answer) {
		size += len(line)
	}
	if size > explain.MaxQuestion || len(q.Headers) > explain.MaxHeaders || len(q.Answer) > explain.MaxHeaders {
		return q, rest.BadRequest("the request is too long: at most %d bytes and %d headers are allowed", explain.MaxQuestion, explain.MaxHeaders)
	}
	return q, nil
}

// fieldLines reads a field that holds one header line or a list of them.
func fieldLines(body map[string]any, name string) (lines []string, err error) {
	if one, alone := body[name].(string); alone {
		lines = []string{one}
	} else if body[name] != nil {
		if lines, err = rest.TextList(body, name); err != nil {
			return nil, err
		}
	}
	if slices.Contains(lines, "") {
		return nil, rest.BadRequest("%s must hold texts like \"Name: value\", none of them empty", name)
	}
	return lines, nil
}
