package farms

import (
	"cmp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
)

// FarmView describes an http farm. The lists at the end have operations of their own.
type FarmView = rest.View[aboutFarm]

type aboutFarm struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile"`
	Status   farm.Status  `json:"status"`
	state.FarmState
	Problem string `json:"problem,omitempty" doc:"Reason why the farm is not running, or why its last start failed"`
	VIP     string `json:"vip"`
	VPort   uint16 `json:"vport"`

	Certificates         []ListedCertificate `json:"certlist"`
	AddHeader            []AddedHeader       `json:"addheader"`
	HeadRemove           []RemovedHeader     `json:"headremove"`
	AddResponseHeader    []AddedHeader       `json:"addresponseheader"`
	RemoveResponseHeader []RemovedHeader     `json:"removeresponseheader"`
	ReplaceRequest       []ReplacedHeader    `json:"replacerequestheader"`
	ReplaceResponse      []ReplacedHeader    `json:"replaceresponseheader"`
}

func (aboutFarm) Table() (string, []field.Answered) {
	return "FarmView", httpfarm.Answer.Answers()
}

func (s *Resource) farmView(c *rest.Call, f *farm.Farm) FarmView {
	h := cmp.Or(f.Headers(), &farm.HeaderRules{})
	now := s.deps.State.Now(c)
	status, problem := now.Look(f)
	return FarmView{Fields: httpfarm.Answer.Answer(f), About: aboutFarm{
		FarmName: f.Name, Profile: state.ShownProfile(f), Status: status, FarmState: now.FarmState(f), Problem: problem,
		VIP: f.VIP.String(), VPort: f.VPort, Certificates: listedCertificates(f),
		AddHeader: shownRules(h.AddRequest, showAdd), HeadRemove: shownRules(h.RemoveRequest, showRemove),
		AddResponseHeader: shownRules(h.AddResponse, showAdd), RemoveResponseHeader: shownRules(h.RemoveResponse, showRemove),
		ReplaceRequest: shownRules(h.ReplaceRequest, showReplace), ReplaceResponse: shownRules(h.ReplaceResponse, showReplace),
	}}
}

// IPDS lists the security rules of a farm.
type IPDS struct {
	Blacklists []struct{} `json:"blacklists"`
	DoS        []struct{} `json:"dos"`
	RBL        []struct{} `json:"rbl"`
	WAF        []struct{} `json:"waf"`
}

func noIPDS() IPDS {
	none := []struct{}{}
	return IPDS{Blacklists: none, DoS: none, RBL: none, WAF: none}
}

// FarmDetails is the response for one http farm.
type FarmDetails struct {
	Description string        `json:"description"`
	Params      FarmView      `json:"params"`
	Services    []ServiceView `json:"services"`
	IPDS        IPDS          `json:"ipds"`
}

func (s *Resource) getFarm(c *rest.Call) (details, error) {
	f, err := c.Farm()
	if err != nil {
		return details{}, err
	}
	of, err := detailOf(c)
	if err != nil {
		return details{}, err
	}
	return details{ProfileOf(f).details(s, c, "Get farm "+f.Name, f, of)}, nil
}

// ServiceName is a service in a summary.
type ServiceName struct {
	ID string `json:"id"`
}

// FarmSummary is the response for one farm without the details of its services.
type FarmSummary struct {
	Description string        `json:"description"`
	Params      FarmView      `json:"params"`
	Services    []ServiceName `json:"services"`
	IPDS        IPDS          `json:"ipds"`
}

// getFarmSummary responds with the names of the services only.
func (s *Resource) getFarmSummary(c *rest.Call) (summary, error) {
	f, err := c.Farm()
	if err != nil {
		return summary{}, err
	}
	return summary{ProfileOf(f).summary(s, c, "Get the summary of farm "+f.Name, f)}, nil
}

// FarmStatus is the status of one farm.
type FarmStatus struct {
	Status farm.Status `json:"status"`
	state.FarmState
	Problem string `json:"problem,omitempty" doc:"Reason why the farm is not running, or why its last start failed"`
}

func (s *Resource) getFarmStatus(c *rest.Call) (rest.Object[FarmStatus], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.Object[FarmStatus]{}, err
	}
	now := s.deps.State.Now(c)
	status, problem := now.Look(f)
	return rest.Object[FarmStatus]{Description: "Get the status of farm " + f.Name, Params: FarmStatus{Status: status, FarmState: now.FarmState(f), Problem: problem}}, nil
}

// ServiceView describes a service.
type ServiceView = rest.View[aboutService]

type aboutService struct {
	ID string `json:"id"`
	state.ServiceState
	Backends []BackendView `json:"backends"`

	AddRequest      []AddedHeader    `json:"addrequestheader"`
	RemoveRequest   []RemovedHeader  `json:"removerequestheader"`
	AddResponse     []AddedHeader    `json:"addresponseheader"`
	RemoveResponse  []RemovedHeader  `json:"removeresponseheader"`
	ReplaceRequest  []ReplacedHeader `json:"replacerequestheader"`
	ReplaceResponse []ReplacedHeader `json:"replaceresponseheader"`
	Rewrites        []RewrittenURL   `json:"rewriteurl"`
}

func (aboutService) Table() (string, []field.Answered) {
	return "ServiceView", httpfarm.ServiceAnswer.Answers()
}

func (s *Resource) serviceView(c *rest.Call, g farm.Group) ServiceView {
	v := g.Service
	return ServiceView{Fields: httpfarm.ServiceAnswer.Answer(v), About: aboutService{
		ID: v.Name, ServiceState: s.deps.State.Now(c).ServiceState(g), Backends: s.backendViews(c, g),
		AddRequest: shownRules(v.AddRequest, showAdd), RemoveRequest: shownRules(v.RemoveRequest, showRemove),
		AddResponse: shownRules(v.AddResponse, showAdd), RemoveResponse: shownRules(v.RemoveResponse, showRemove),
		ReplaceRequest: shownRules(v.ReplaceRequest, showReplace), ReplaceResponse: shownRules(v.ReplaceResponse, showReplace),
		Rewrites: shownRules(v.Rewrites, showRewrite),
	}}
}

// BackendView describes a backend. Unset values are null.
type BackendView = rest.View[aboutBackend]

type aboutBackend struct {
	ID     int         `json:"id"`
	IP     string      `json:"ip"`
	Port   uint16      `json:"port"`
	Status farm.Status `json:"status"`
	state.BackendState
	Problem string `json:"problem,omitempty" doc:"Reason why a reachable backend gets no traffic"`
	Mode    string `json:"maintenance_mode,omitempty" enum:"drain,cut" doc:"Maintenance mode of the backend"`
	// Resolution is nil for a backend with an address.
	Resolution *state.Resolution `json:"resolution,omitempty" doc:"For a backend with a host name"`
}

func (aboutBackend) Table() (string, []field.Answered) {
	return "BackendView", httpfarm.BackendAnswer.Answers()
}

func (s *Resource) backendViews(c *rest.Call, g farm.Group) []BackendView {
	out := []BackendView{}
	for i := range g.Backends() {
		out = append(out, s.backendView(c, g, i))
	}
	return out
}

// backendView describes a backend. If the backend has no alias, the alias of its address is
// shown.
func (s *Resource) backendView(c *rest.Call, g farm.Group, i int) BackendView {
	b := &g.Backends()[i]
	r := s.deps.State.Resolution(g, i)
	return BackendView{Fields: called(c, b, httpfarm.BackendAnswer.Answer(b)), About: aboutBackend{
		ID: g.Number(i), IP: b.ShownAddress(), Port: b.Port, Status: farmstate.In(g, i, s.deps.Health), BackendState: s.deps.State.BackendState(g, i), Problem: cmp.Or(s.deps.State.BackendProblem(c, b), state.NameProblem(b, r)), Mode: string(b.Maintenance), Resolution: r,
	}}
}

// called adds the effective alias of a backend to its fields.
func called(c *rest.Call, b *farm.Backend, fields map[string]any) map[string]any {
	if alias := state.Aliases(c).Called(b); alias != "" {
		fields["alias"] = alias
	}
	return fields
}
