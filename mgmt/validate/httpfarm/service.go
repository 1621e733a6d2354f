package httpfarm

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

var ServiceAnswer = ServiceUpdate

var serviceCheck = field.Field[farm.Service]{Rule: check.LinkRule,
	Get: func(s *farm.Service) field.Value { return field.TextValue(s.Check) },
	Set: func(s *farm.Service, v field.Value) { s.Check = v.Text() },
}

// Bodies about a service.
var (
	// ServiceCreate is the body of POST /farms/F/services: the name and all changeable
	// fields.
	ServiceCreate = field.Table[farm.Service]{Fields: slices.Concat([]field.Field[farm.Service]{field.Require(field.Named(serviceName, "id"))}, ServiceUpdate.Fields)}
	// ServiceUpdate is the body of PUT /farms/F/services/S.
	ServiceUpdate = field.Table[farm.Service]{Fields: slices.Concat(serviceFields,
		[]field.Field[farm.Service]{serviceLeastResp, servicePolicy}, serviceOptions)}
	// ServiceMove is the body of POST /farms/F/services/S/actions; the caller moves the
	// service.
	ServiceMove = move[farm.Service]("New position of the service, starting at 0.")
	// ServiceDocument is a service in a document, without its backends.
	ServiceDocument = field.Table[farm.Service]{Fields: slices.Concat([]field.Field[farm.Service]{field.Require(serviceName)},
		serviceFields, []field.Field[farm.Service]{servicePolicy}, serviceOptions, serviceHeaders)}
)

var serviceName = field.Field[farm.Service]{
	Rule: profile.ServiceNameRule,
	Get:  func(s *farm.Service) field.Value { return field.TextValue(s.Name) },
	Set:  func(s *farm.Service, v field.Value) { s.Name = v.Text() },
}

var serviceFields = []field.Field[farm.Service]{
	matching("vhost", field.Basic(field.AtMatching, "Host"), "Host name, or a regex anchored at the start of the host name; empty matches every host.", checkVHost, func(s *farm.Service) *string { return &s.VHost }),
	matching("urlp", field.Basic(field.AtMatching, "URL"), "Regex searched for in path and query; empty matches every request.", checkURLPattern, func(s *farm.Service) *string { return &s.URL }),
	{
		Rule: field.Rule{Name: "redirect", Hints: field.Basic(field.AtRedirect, "Redirect to"), IfUnset: field.Omit, Kind: field.Text, Format: "http(s)://…", Blank: true, MaxLen: format.MaxURL, Check: checkRedirect,
			Must: "an absolute http or https URL", About: "Redirect URL for all requests, instead of forwarding them to backends; empty disables the redirect."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(s.Redirect) },
		Set: func(s *farm.Service, v field.Value) { s.Redirect = v.Text() },
	},
	{
		Rule: field.Rule{Name: "redirecttype", Hints: field.Basic(field.AtRedirect, "Redirect type"), Kind: field.Text, Values: field.Texts(farm.RedirectTypes()), Only: field.With("redirect").Else(field.Drop), Default: field.TextValue(string(farm.RedirectDefault)), About: "Redirect target: append adds the request path to redirect, default uses redirect unchanged."},
		Get:  func(s *farm.Service) field.Value { return field.TextValue(string(s.RedirectType)) },
		Set:  func(s *farm.Service, v field.Value) { s.RedirectType = farm.RedirectType(v.Text()) },
	},
	{
		Rule: field.Rule{Name: "redirect_code", Hints: field.Basic(field.AtRedirect, "Redirect status"), Kind: field.Number, Values: codes(farm.RedirectCodes()), Only: field.With("redirect").Else(field.Drop), Default: field.NumberValue(farm.DefaultRedirectCode), About: "Status code of the redirect."},
		Get:  func(s *farm.Service) field.Value { return field.NumberValue(int64(s.RedirectCode)) },
		Set:  func(s *farm.Service, v field.Value) { s.RedirectCode = int(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "dns_farm", Hints: field.Advanced(field.AtRedirect, "DNS over HTTPS"), IfUnset: field.Omit, Kind: field.Text, Format: "name of a gslb farm", Blank: true, Null: true, MaxLen: format.MaxName, Pattern: format.FarmName,
			Must:  "the name of a gslb farm",
			About: "The gslb farm that answers DNS over HTTPS requests (RFC 8484), instead of the backends; empty disables it."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(s.DNSFarm) },
		Set: func(s *farm.Service, v field.Value) { s.DNSFarm = v.Text() },
	},
	{
		Rule: field.Rule{Name: "persistence", Hints: field.Basic(field.AtPersistence, "Persistence"), Kind: field.Text, Values: append([]string{""}, field.Texts(farm.Persistences())...),
			Normalize: map[string]string{"NONE": ""}, Null: true, About: "Client attribute used for persistence; empty or NONE disables persistence."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(string(s.Persistence)) },
		Set: setPersistence,
	},
	{
		Rule: field.Rule{Name: "ttl", Hints: field.Basic(field.AtPersistence, "Session lifetime").In(field.Seconds), IfUnset: field.ShowNull, Kind: field.Number, Min: 1, Max: format.MaxTTL, Null: true, Only: field.With("persistence").Else(field.WarnAndDrop),
			Default: field.NumberValue(int64(farm.DefaultTTL)), About: "Lifetime of a session after its last use, in seconds."},
		Get:       func(s *farm.Service) field.Value { return field.NumberValue(int64(s.TTL)) },
		Effective: sessionTTL,
		Set:       func(s *farm.Service, v field.Value) { s.TTL = farm.Seconds(v.Number()) },
	},
	{
		Rule: field.Rule{Name: "sessionid", Hints: field.Basic(field.AtPersistence, "Name"), Kind: field.Text, Blank: true, MaxLen: 255, Check: format.Printable,
			Must: "a name without control characters", Only: field.WithValue("persistence", farm.PersistURL, farm.PersistCookie, farm.PersistHeader).Else(field.WarnAndDrop),
			About: "Name of the cookie, header or parameter used for persistence."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(s.SessionID) },
		Set: func(s *farm.Service, v field.Value) { s.SessionID = v.Text() },
	},
}

var servicePolicy = field.Field[farm.Service]{
	Rule: field.Rule{Name: "routingpolicy", Hints: field.Basic(field.AtBalancing, "Algorithm"), Kind: field.Text, Values: field.Texts(farm.RoutingPolicies()), Default: field.TextValue(string(farm.PolicyRoundRobin)), About: "Balancing algorithm."},
	Get:  func(s *farm.Service) field.Value { return field.TextValue(string(s.Policy)) },
	Set:  func(s *farm.Service, v field.Value) { s.Policy = farm.RoutingPolicy(v.Text()) },
}

// serviceLeastResp selects response time balancing in Zevenet's older core. It precedes
// routingpolicy, which overrides false, because clients send whole objects back. true
// together with another policy is rejected.
var serviceLeastResp = field.Field[farm.Service]{
	Rule: field.Rule{Name: "leastresp", Hints: field.Advanced(field.AtBalancing, "By response time"), Kind: field.Bool, About: "Older form of routingpolicy: true selects RESPONSE_TIME."},
	Get:  func(s *farm.Service) field.Value { return field.BoolValue(s.Policy == farm.PolicyResponseTime) },
	Set: func(s *farm.Service, v field.Value) {
		switch {
		case v.Bool():
			s.Policy = farm.PolicyResponseTime
		case s.Policy == farm.PolicyResponseTime:
			s.Policy = ""
		}
	},
	Needs: func(sent field.Values[farm.Service], _ *farm.Service) string {
		policy := farm.RoutingPolicy(sent.Get("routingpolicy").Text())
		if !sent.Get("leastresp").Bool() || policy == "" || policy == farm.PolicyResponseTime {
			return ""
		}
		return "true means routingpolicy RESPONSE_TIME, which contradicts routingpolicy " + string(policy) + "; send one of both"
	},
}

func matching(name string, h field.Hints, about string, check func(string) string,
	at func(*farm.Service) *string) field.Field[farm.Service] {
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Text, Format: "regex", Blank: true, MaxLen: format.MaxPattern, Check: check,
			Must: "a valid regular expression", About: about},
		Get: func(s *farm.Service) field.Value { return field.TextValue(*at(s)) },
		Set: func(s *farm.Service, v field.Value) { *at(s) = v.Text() },
	}
}

// sessionTTL returns the effective TTL, or one set before persistence. It returns null if
// there is neither, so that a client sending the whole object back gets no warning.
func sessionTTL(s *farm.Service) field.Value {
	if s.Persistence == farm.PersistNone && s.TTL == 0 {
		return field.Value{}
	}
	return field.NumberValue(int64(cmp.Or(s.TTL, farm.DefaultTTL)))
}

// setPersistence clears static sessions when the kind changes, because they are keys of the
// old kind.
func setPersistence(s *farm.Service, v field.Value) {
	if was := s.Persistence; string(was) != v.Text() {
		for i := range s.Backends {
			s.Backends[i].Sessions = nil
		}
	}
	s.Persistence = farm.Persistence(v.Text())
}

// move returns the body that moves an object; the caller moves it.
func move[T any](about string) field.Table[T] {
	return field.Table[T]{Fields: []field.Field[T]{{Rule: field.Rule{Name: "position", Hints: field.Basic(field.AtMatching, "Position"), Kind: field.Number, Required: true, Max: field.Unbounded, About: about}}}}
}

func codes(numbers []int) []string {
	out := make([]string, len(numbers))
	for i, n := range numbers {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// Limits of services.
const (
	// MaxConditions bounds the required and the denied headers of a service.
	MaxConditions = 32
	// MaxSTS is the maximum age of Strict-Transport-Security in seconds: ten years.
	MaxSTS = 10 * 365 * 86400
)

// serviceOptions are the fields of a service except matching, persistence and policy.
var serviceOptions = slices.Concat(conditionFields, backendTLSFields, backendProtocolFields, cookieFields,
	stsFields, servedByFields, leniencyFields,
	rateFields, authFields, splitFields, proxyOutFields, resilienceFields,
	compressionFields, []field.Field[farm.Service]{serviceCheck})

// conditionFields are further conditions, and options of the exchange.
var conditionFields = []field.Field[farm.Service]{
	conditions("headrequire", field.Advanced(field.AtMatching, "Required headers"), "Regexes for header lines (\"Name: value\"); each must match at least one header line of the request.", func(s *farm.Service) *[]string { return &s.HeadRequire }),
	conditions("headdeny", field.Advanced(field.AtMatching, "Denied headers"), "Regexes for header lines (\"Name: value\"); the service does not match requests with a header line that matches any of them.", func(s *farm.Service) *[]string { return &s.HeadDeny }),
	option("ignorecase", field.Advanced(field.AtMatching, "Ignore case"), "Ignore case in urlp.", func(s *farm.Service) *bool { return &s.IgnoreCase }),
	{
		Rule: field.Rule{Name: "rewritelocation", Hints: field.Basic(field.AtResponses, "Rewrite Location"), Kind: field.Text, Values: append([]string{""}, field.Texts(farm.RewriteLocations())...), Null: true,
			About: "Location headers of responses to rewrite; empty uses the farm's setting."},
		Get: func(s *farm.Service) field.Value { return field.TextValue(string(s.RewriteLocation)) },
		Set: func(s *farm.Service, v field.Value) { s.RewriteLocation = farm.RewriteLocation(v.Text()) },
	},
	{
		Rule: field.Rule{Name: "pinnedconnection", Hints: field.Advanced(field.AtBackends, "Pinned connection"), Kind: field.Number, Values: []string{"0", "1"}, About: "Keep each client connection on the first backend connection it used."},
		Get: func(s *farm.Service) field.Value {
			if s.Pinned {
				return field.NumberValue(1)
			}
			return field.NumberValue(0)
		},
		Set: func(s *farm.Service, v field.Value) { s.Pinned = v.Number() == 1 },
	},
	{
		Rule: field.Rule{Name: "abortonclose", Hints: field.Advanced(field.AtRequests, "Abort on client close"), Kind: field.Bool, Unset: field.BoolValue(true),
			About: "Abort the request when the client half-closes its connection (FIN, close_notify); a reset always aborts it. Use false for clients that half-close and still read the response."},
		Get: func(s *farm.Service) field.Value { return field.BoolValue(!s.IgnoreClose) },
		Set: func(s *farm.Service, v field.Value) { s.IgnoreClose = !v.Bool() },
	},
}

// stsFields are the fields of Strict-Transport-Security.
var stsFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "sts_status", Hints: field.Basic(field.AtResponses, "Strict-Transport-Security"), Kind: field.Bool, About: "Send Strict-Transport-Security; only with listener https."},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(s.STS != 0) },
		Set: func(s *farm.Service, v field.Value) {
			switch {
			case !v.Bool():
				s.STS = 0
			case s.STS == 0:
				s.STS = farm.DefaultSTS
			}
		},
	},
	{
		Rule: field.Rule{Name: "sts_timeout", Hints: field.Basic(field.AtResponses, "HSTS lifetime").In(field.Seconds), Kind: field.Number, Min: 1, Max: MaxSTS, Null: true, Unset: field.NumberValue(int64(farm.DefaultSTS)),
			Only: field.With("sts_status"), About: "max-age of Strict-Transport-Security, in seconds."},
		Get: func(s *farm.Service) field.Value { return field.NumberValue(int64(cmp.Or(s.STS, farm.DefaultSTS))) },
		Set: func(s *farm.Service, v field.Value) { s.STS = cmp.Or(farm.Seconds(v.Number()), farm.DefaultSTS) },
	},
}

// option returns the field of a boolean.
func option(name string, h field.Hints, about string, at func(*farm.Service) *bool) field.Field[farm.Service] {
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.Bool, About: about},
		Get:  func(s *farm.Service) field.Value { return field.BoolValue(*at(s)) },
		Set:  func(s *farm.Service, v field.Value) { *at(s) = v.Bool() },
	}
}

// conditions returns the field of a list of regexes for header lines.
func conditions(name string, h field.Hints, about string, at func(*farm.Service) *[]string) field.Field[farm.Service] {
	return field.Field[farm.Service]{
		Rule: field.Rule{Name: name, Hints: h, Kind: field.List, Format: "regex", Null: true, Max: MaxConditions, MaxLen: format.MaxPattern, Check: CheckVeiled,
			Must: "a valid regular expression", MustList: "a list of regular expressions", About: about},
		Get: func(s *farm.Service) field.Value { return field.ListValue(*at(s)) },
		Set: func(s *farm.Service, v field.Value) { *at(s) = v.List() },
	}
}

// splitFields define the share of a service among its neighbours. 0 is a valid weight, so
// unset is an invalid number.
var splitFields = []field.Field[farm.Service]{
	{
		Rule: field.Rule{Name: "split", Hints: field.Advanced(field.AtMatching, "Traffic share"), IfUnset: field.Omit, Kind: field.Number, Max: farm.MaxSplit, Null: true, Unset: field.NumberValue(-1),
			About: "Weight for splitting traffic among adjacent services with this setting: one of those that match is chosen at random; clients with a session or cookie stay. 0 accepts only such clients; unset disables splitting."},
		Get: func(s *farm.Service) field.Value {
			if s.Split == nil {
				return field.NumberValue(-1)
			}
			return field.NumberValue(int64(*s.Split))
		},
		Set: func(s *farm.Service, v field.Value) {
			s.Split = nil
			if !v.Null() {
				n := uint8(v.Number())
				s.Split = &n
			}
		},
	},
}

// servedByFields is the response header that names the backend.
var servedByFields = []field.Field[farm.Service]{{
	Rule: field.Rule{Name: "served_by", Hints: field.Advanced(field.AtResponses, "Backend response header"), Kind: field.Text, Blank: true, Null: true, MaxLen: 64, Check: checkServedBy, Format: "name of a header",
		Must:  "the name of a header (letters, digits and !#$%&'*+.^_`|~-)",
		About: "Response header with the alias or address of the backend, for debugging; empty disables it. It reveals your network to clients."},
	Get: func(s *farm.Service) field.Value { return field.TextValue(s.ServedBy) },
	Set: func(s *farm.Service, v field.Value) { s.ServedBy = v.Text() },
}}

// meaningful lists response fields with a fixed meaning, which the name of a backend would
// break.
var meaningful = strings.Fields(`Accept-Ranges Age Alt-Svc Cache-Control Date ETag Expires Last-Modified Link Location Retry-After Set-Cookie
	Strict-Transport-Security Vary WWW-Authenticate X-Request-Id`)

func checkServedBy(s string) string {
	if problem := checkToken(s); problem != "" {
		return problem
	}
	if problem := fixedReason(s); problem != "" {
		return problem
	}
	if len(s) >= 8 && strings.EqualFold(s[:8], "Content-") {
		return "answers need what Content- fields say"
	}
	for _, name := range meaningful {
		if strings.EqualFold(s, name) {
			return "answers need what " + name + " says"
		}
	}
	return ""
}
