package api

import (
	"cmp"
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/farmstate"
)

// FarmView is everything about an http farm. The lists at its end are changed
// by operations of their own.
type FarmView struct {
	FarmName string       `json:"farmname"`
	Profile  farm.Profile `json:"profile"`
	Status   farm.Status  `json:"status"`
	Problem  string       `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
	VIP      string       `json:"vip"`
	VPort    uint16       `json:"vport"`
	Listener string       `json:"listener" enum:"http,https"`
	TLSView
	ConnectTimeout  farm.Seconds         `json:"contimeout"`
	ResponseTimeout farm.Seconds         `json:"restimeout"`
	ResurrectTime   farm.Seconds         `json:"resurrectime"`
	RequestTimeout  farm.Seconds         `json:"reqtimeout"`
	TunnelTimeout   farm.Seconds         `json:"wstimeout"`
	StopGrace       farm.Seconds         `json:"grace"`
	RewriteLocation farm.RewriteLocation `json:"rewritelocation"`
	RewriteHost     string               `json:"rewritehost" enum:"true,false"`
	RewriteDest     string               `json:"rewritedestination" enum:"true,false"`
	Verbs           farm.VerbSet         `json:"httpverb"`
	CheckURL        string               `json:"checkurl"`
	IgnoreCase      string               `json:"ignorecase" enum:"true,false"`
	Continue        farm.ContinueMode    `json:"ignore_100_continue"`
	MaxHead         uint32               `json:"maxrequest"`
	MaxBody         uint64               `json:"maxbody" doc:"0 means no bound"`
	MaxConnections  uint32               `json:"maxconnections" doc:"0 means no bound"`
	Overflow        farm.Overflow        `json:"overflow"`
	Mark            uint32               `json:"mark" doc:"0 sets none"`
	Trusted         []string             `json:"trusted"`
	ProxyIn         farm.ProxyIn         `json:"proxyprotocol_in"`
	Logs            string               `json:"logs" enum:"true,false"`
	LogView
	Error414 string `json:"error414"`
	Error500 string `json:"error500"`
	Error501 string `json:"error501"`
	Error503 string `json:"error503"`
	ErrorWAF string `json:"errorWAF"`

	Certificates         []ListedCertificate `json:"certlist"`
	AddHeader            []AddedHeader       `json:"addheader"`
	HeadRemove           []RemovedHeader     `json:"headremove"`
	AddResponseHeader    []AddedHeader       `json:"addresponseheader"`
	RemoveResponseHeader []RemovedHeader     `json:"removeresponseheader"`
	ReplaceRequest       []ReplacedHeader    `json:"replacerequestheader"`
	ReplaceResponse      []ReplacedHeader    `json:"replaceresponseheader"`
}

func (s *Server) farmView(f *farm.Farm) FarmView {
	h := f.HTTP
	if h == nil {
		h = farm.DefaultHTTP()
	}
	out := FarmView{
		FarmName: f.Name, Profile: shownProfile(f), Status: s.status(f), Problem: s.problem(f),
		VIP: f.VIP.String(), VPort: f.VPort, Listener: "http", Certificates: listedCertificates(f),
		ConnectTimeout: h.ConnectTimeout, ResponseTimeout: h.ResponseTimeout,
		ResurrectTime: h.ResurrectTime, RequestTimeout: h.RequestTimeout,
		TunnelTimeout: cmp.Or(h.TunnelTimeout, farm.DefaultTunnelTimeout), StopGrace: cmp.Or(h.StopGrace, farm.DefaultStopGrace),
		RewriteLocation: h.RewriteLocation, RewriteHost: truth(h.RewriteHost), RewriteDest: truth(h.RewriteDestination),
		Verbs: h.Verbs, CheckURL: h.CheckURL, IgnoreCase: truth(h.IgnoreCase), Continue: cmp.Or(h.Continue, farm.ContinuePass),
		MaxHead: cmp.Or(h.MaxHead, farm.DefaultMaxHead), MaxBody: h.MaxBody, MaxConnections: h.MaxConnections,
		Overflow: cmp.Or(h.Overflow, farm.OverflowWait), Mark: h.Mark, Trusted: networks(h.Trusted), ProxyIn: cmp.Or(h.ProxyIn, farm.ProxyInOff), Logs: truth(h.Logs), LogView: logView(h),
		Error414: h.Error414, Error500: h.Error500, Error501: h.Error501, Error503: h.Error503, ErrorWAF: h.ErrorWAF,
		AddHeader: shownRules(h.AddRequest, showAdd), HeadRemove: shownRules(h.RemoveRequest, showRemove),
		AddResponseHeader: shownRules(h.AddResponse, showAdd), RemoveResponseHeader: shownRules(h.RemoveResponse, showRemove),
		ReplaceRequest: shownRules(h.ReplaceRequest, showReplace), ReplaceResponse: shownRules(h.ReplaceResponse, showReplace),
	}
	if h.TLS != nil {
		out.Listener, out.TLSView = "https", tlsView(h.TLS)
	}
	return out
}

// truth is a truth value as the family writes it.
func truth(b bool) string { return strconv.FormatBool(b) }

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

// FarmDetails is the answer about one http farm.
type FarmDetails struct {
	Description string        `json:"description"`
	Params      FarmView      `json:"params"`
	Services    []ServiceView `json:"services"`
	IPDS        IPDS          `json:"ipds"`
}

func (s *Server) getFarm(c *call) (details, error) {
	f, err := c.farm()
	if err != nil {
		return details{}, err
	}
	return details{profileOf(f).details(s, "Get farm "+f.Name, f)}, nil
}

// ServiceName is a service in a summary.
type ServiceName struct {
	ID string `json:"id"`
}

// FarmSummary is the answer about one farm without the details of its services.
type FarmSummary struct {
	Description string        `json:"description"`
	Params      FarmView      `json:"params"`
	Services    []ServiceName `json:"services"`
	IPDS        IPDS          `json:"ipds"`
}

// getFarmSummary answers with the services by name only.
func (s *Server) getFarmSummary(c *call) (summary, error) {
	f, err := c.farm()
	if err != nil {
		return summary{}, err
	}
	return summary{profileOf(f).summary(s, "Get the summary of farm "+f.Name, f)}, nil
}

// FarmStatus is the status of one farm.
type FarmStatus struct {
	Status  farm.Status `json:"status"`
	Problem string      `json:"problem,omitempty" doc:"Why the farm does not run: what keeps it from running, or why its last start was refused"`
}

func (s *Server) getFarmStatus(c *call) (Object[FarmStatus], error) {
	f, err := c.farm()
	if err != nil {
		return Object[FarmStatus]{}, err
	}
	return Object[FarmStatus]{
		Description: "Get the status of farm " + f.Name,
		Params:      FarmStatus{Status: s.status(f), Problem: s.problem(f)},
	}, nil
}

// ServiceView is everything about a service. The redirect's fields are there
// only with a redirect: clients take one that is there for one that is set.
type ServiceView struct {
	ID           string             `json:"id"`
	VHost        string             `json:"vhost"`
	URL          string             `json:"urlp"`
	Redirect     string             `json:"redirect,omitempty"`
	RedirectType farm.RedirectType  `json:"redirecttype,omitempty"`
	RedirectCode int                `json:"redirect_code,omitempty"`
	Persistence  farm.Persistence   `json:"persistence"`
	TTL          *farm.Seconds      `json:"ttl" doc:"null without persistence"`
	SessionID    string             `json:"sessionid"`
	Policy       farm.RoutingPolicy `json:"routingpolicy"`
	LeastResp    string             `json:"leastresp" enum:"true,false"`
	ServiceOptions
	Guardian string        `json:"farmguardian"`
	Backends []BackendView `json:"backends"`
}

func (s *Server) serviceView(g farm.Group) ServiceView {
	v := g.Service
	out := ServiceView{
		ID: v.Name, VHost: v.VHost, URL: v.URL, Redirect: v.Redirect,
		Persistence: v.Persistence, TTL: sessionTTL(v), SessionID: v.SessionID,
		Policy:    cmp.Or(v.Policy, farm.PolicyRoundRobin),
		LeastResp: truth(v.Policy == farm.PolicyResponseTime), ServiceOptions: serviceOptions(v),
		Backends: s.backendViews(g),
	}
	if v.Redirect != "" {
		out.RedirectType = cmp.Or(v.RedirectType, farm.RedirectDefault)
		out.RedirectCode = cmp.Or(v.RedirectCode, 302)
	}
	return out
}

// sessionTTL is the time-to-live in force, or the one that waits for persistence;
// null when there is neither: a client that sends the whole object back must not
// be warned of it.
func sessionTTL(v *farm.Service) *farm.Seconds {
	if v.Persistence == farm.PersistNone && v.TTL == 0 {
		return nil
	}
	ttl := cmp.Or(v.TTL, farm.DefaultTTL)
	return &ttl
}

// BackendView is everything about a backend; what was never set is null.
type BackendView struct {
	ID        int           `json:"id"`
	IP        string        `json:"ip"`
	Port      uint16        `json:"port"`
	Status    farm.Status   `json:"status"`
	Problem   string        `json:"problem,omitempty" doc:"Why a backend that can be connected to gets no traffic"`
	Mode      string        `json:"maintenance_mode,omitempty" enum:"drain,cut" doc:"How the backend was taken out"`
	Timeout   *farm.Seconds `json:"timeout"`
	Weight    *uint8        `json:"weight"`
	Priority  *uint8        `json:"priority"`
	ConnLimit *uint32       `json:"connection_limit"`
	Source    *netip.Addr   `json:"source"`
	Mark      *uint32       `json:"mark"`
	Alias     *string       `json:"alias"`
	// Resolution is nil for a backend with an address.
	Resolution *Resolution `json:"resolution,omitempty" doc:"Of a backend with a host name"`
}

func (s *Server) backendViews(g farm.Group) []BackendView {
	out := []BackendView{}
	for i := range g.Backends() {
		out = append(out, s.backendView(g, i))
	}
	return out
}

func (s *Server) backendView(g farm.Group, i int) BackendView {
	b := &g.Backends()[i]
	r := s.resolution(g, i)
	return BackendView{
		ID: g.Number(i), IP: b.Place(), Port: b.Port, Status: farmstate.In(g, i, s.deps.Health), Problem: cmp.Or(s.backendProblem(b), nameProblem(b, r)), Mode: string(b.Maintenance), Resolution: r,
		Timeout: orNull(b.Timeout), Weight: orNull(b.Weight), Priority: orNull(b.Priority),
		ConnLimit: orNull(b.ConnLimit), Source: orNull(b.Source), Mark: orNull(b.Mark), Alias: orNull(b.Alias),
	}
}

// orNull returns nil for the zero value, which means "never set".
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
