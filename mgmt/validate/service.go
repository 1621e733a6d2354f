package validate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Bodies about a service.
var (
	// ServiceCreate is the body of POST /farms/F/services: the name and all changeable
	// fields.
	ServiceCreate = Table[farm.Service]{fields: slices.Concat([]field[farm.Service]{require(named(serviceName, "id"))}, ServiceUpdate.fields)}
	// ServiceUpdate is the body of PUT /farms/F/services/S.
	ServiceUpdate = Table[farm.Service]{fields: slices.Concat(serviceFields, []field[farm.Service]{serviceLeastResp, servicePolicy}, serviceOptions)}
	// ServiceMove is the body of POST /farms/F/services/S/actions; the caller moves the
	// service.
	ServiceMove = move[farm.Service]("New position of the service, starting at 0.")
	// ServiceDocument is a service in a document, without its backends.
	ServiceDocument = Table[farm.Service]{fields: slices.Concat([]field[farm.Service]{require(serviceName)}, serviceFields, []field[farm.Service]{servicePolicy}, serviceOptions, serviceHeaders)}
)

var serviceName = field[farm.Service]{
	rule: serviceNameRule,
	get:  func(s *farm.Service) Value { return textValue(s.Name) },
	set:  func(s *farm.Service, v Value) { s.Name = v.text },
}

var serviceFields = []field[farm.Service]{
	matching("vhost", basic(atMatching, "Host"), "Host name, or a regex anchored at the start of the host name; empty matches every host.", checkVHost, func(s *farm.Service) *string { return &s.VHost }),
	matching("urlp", basic(atMatching, "URL"), "Regex searched for in path and query; empty matches every request.", checkURLPattern, func(s *farm.Service) *string { return &s.URL }),
	{
		rule: rule{name: "redirect", hints: basic(atRedirect, "Redirect to"), bare: leftOut, kind: kindText, format: "http(s)://…", blank: true, maxLen: MaxURL, check: checkRedirect,
			must: "an absolute http or https URL", about: "Redirect URL for all requests, instead of forwarding them to backends; empty disables the redirect."},
		get: func(s *farm.Service) Value { return textValue(s.Redirect) },
		set: func(s *farm.Service, v Value) { s.Redirect = v.text },
	},
	{
		rule: rule{name: "redirecttype", hints: basic(atRedirect, "Redirect type"), kind: kindText, values: texts(farm.RedirectTypes()), only: with("redirect").as(kept), acts: textValue(string(farm.RedirectDefault)), about: "Redirect target: append adds the request path to redirect, default uses redirect unchanged."},
		get:  func(s *farm.Service) Value { return textValue(string(s.RedirectType)) },
		set:  func(s *farm.Service, v Value) { s.RedirectType = farm.RedirectType(v.text) },
	},
	{
		rule: rule{name: "redirect_code", hints: basic(atRedirect, "Redirect status"), kind: kindNumber, values: codes(farm.RedirectCodes()), only: with("redirect").as(kept), acts: numberValue(farm.DefaultRedirectCode), about: "Status code of the redirect."},
		get:  func(s *farm.Service) Value { return numberValue(int64(s.RedirectCode)) },
		set:  func(s *farm.Service, v Value) { s.RedirectCode = int(v.number) },
	},
	{
		rule: rule{name: "dns_farm", hints: advanced(atRedirect, "DNS over HTTPS"), bare: leftOut, kind: kindText, format: "name of a gslb farm", blank: true, null: true, maxLen: MaxName, pattern: farmNamePattern,
			must:  "the name of a gslb farm",
			about: "The gslb farm that answers DNS over HTTPS requests (RFC 8484), instead of the backends; empty disables it."},
		get: func(s *farm.Service) Value { return textValue(s.DNSFarm) },
		set: func(s *farm.Service, v Value) { s.DNSFarm = v.text },
	},
	{
		rule: rule{name: "persistence", hints: basic(atPersistence, "Persistence"), kind: kindText, values: append([]string{""}, texts(farm.Persistences())...),
			normalize: map[string]string{"NONE": ""}, null: true, about: "Client attribute used for persistence; empty or NONE disables persistence."},
		get: func(s *farm.Service) Value { return textValue(string(s.Persistence)) },
		set: setPersistence,
	},
	{
		rule: rule{name: "ttl", hints: basic(atPersistence, "Session lifetime").in(inSeconds), bare: asNull, kind: kindNumber, min: 1, max: MaxTTL, null: true, only: with("persistence").as(waiting),
			acts: numberValue(int64(farm.DefaultTTL)), about: "Lifetime of a session after its last use, in seconds."},
		get:   func(s *farm.Service) Value { return numberValue(int64(s.TTL)) },
		force: sessionTTL,
		set:   func(s *farm.Service, v Value) { s.TTL = farm.Seconds(v.number) },
	},
	{
		rule: rule{name: "sessionid", hints: basic(atPersistence, "Name"), kind: kindText, blank: true, maxLen: 255, check: checkPrintable,
			must: "a name without control characters", only: being("persistence", farm.PersistURL, farm.PersistCookie, farm.PersistHeader).as(waiting),
			about: "Name of the cookie, header or parameter used for persistence."},
		get: func(s *farm.Service) Value { return textValue(s.SessionID) },
		set: func(s *farm.Service, v Value) { s.SessionID = v.text },
	},
}

var servicePolicy = field[farm.Service]{
	rule: rule{name: "routingpolicy", hints: basic(atBalancing, "Algorithm"), kind: kindText, values: texts(farm.RoutingPolicies()), acts: textValue(string(farm.PolicyRoundRobin)), about: "Balancing algorithm."},
	get:  func(s *farm.Service) Value { return textValue(string(s.Policy)) },
	set:  func(s *farm.Service, v Value) { s.Policy = farm.RoutingPolicy(v.text) },
}

// serviceLeastResp selects response time balancing in Zevenet's older core. It precedes
// routingpolicy, which overrides false, because clients send whole objects back. true
// together with another policy is rejected.
var serviceLeastResp = field[farm.Service]{
	rule: rule{name: "leastresp", hints: advanced(atBalancing, "By response time"), kind: kindBool, about: "Older form of routingpolicy: true selects RESPONSE_TIME."},
	get:  func(s *farm.Service) Value { return boolValue(s.Policy == farm.PolicyResponseTime) },
	set: func(s *farm.Service, v Value) {
		switch {
		case v.truth:
			s.Policy = farm.PolicyResponseTime
		case s.Policy == farm.PolicyResponseTime:
			s.Policy = ""
		}
	},
	needs: func(sent Values[farm.Service], _ *farm.Service) string {
		policy := farm.RoutingPolicy(sent.Get("routingpolicy").Text())
		if !sent.Get("leastresp").Bool() || policy == "" || policy == farm.PolicyResponseTime {
			return ""
		}
		return "true means routingpolicy RESPONSE_TIME, which contradicts routingpolicy " + string(policy) + "; send one of both"
	},
}

func matching(name string, h hints, about string, check func(string) string, at func(*farm.Service) *string) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindText, format: "regex", blank: true, maxLen: MaxPattern, check: check,
			must: "a valid regular expression", about: about},
		get: func(s *farm.Service) Value { return textValue(*at(s)) },
		set: func(s *farm.Service, v Value) { *at(s) = v.text },
	}
}

// sessionTTL returns the effective TTL, or one set before persistence. It returns null if
// there is neither, so that a client sending the whole object back gets no warning.
func sessionTTL(s *farm.Service) Value {
	if s.Persistence == farm.PersistNone && s.TTL == 0 {
		return Value{}
	}
	return numberValue(int64(cmp.Or(s.TTL, farm.DefaultTTL)))
}

// setPersistence clears static sessions when the kind changes, because they are keys of the
// old kind.
func setPersistence(s *farm.Service, v Value) {
	if was := s.Persistence; string(was) != v.text {
		for i := range s.Backends {
			s.Backends[i].Sessions = nil
		}
	}
	s.Persistence = farm.Persistence(v.text)
}

// move returns the body that moves an object; the caller moves it.
func move[T any](about string) Table[T] {
	return Table[T]{fields: []field[T]{{rule: rule{name: "position", hints: basic(atMatching, "Position"), kind: kindNumber, required: true, max: maxUnbounded, about: about}}}}
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
var serviceOptions = slices.Concat(conditionFields, backendTLSFields, backendProtocolFields, cookieFields, stsFields, servedByFields, leniencyFields,
	rateFields, authFields, splitFields, proxyOutFields, resilienceFields,
	compressionFields, []field[farm.Service]{serviceCheck})

// conditionFields are further conditions, and options of the exchange.
var conditionFields = []field[farm.Service]{
	conditions("headrequire", advanced(atMatching, "Required headers"), "Regexes for header lines (\"Name: value\"); each must match at least one header line of the request.", func(s *farm.Service) *[]string { return &s.HeadRequire }),
	conditions("headdeny", advanced(atMatching, "Denied headers"), "Regexes for header lines (\"Name: value\"); the service does not match requests with a header line that matches any of them.", func(s *farm.Service) *[]string { return &s.HeadDeny }),
	option("ignorecase", advanced(atMatching, "Ignore case"), "Ignore case in urlp.", func(s *farm.Service) *bool { return &s.IgnoreCase }),
	{
		rule: rule{name: "rewritelocation", hints: basic(atResponses, "Rewrite Location"), kind: kindText, values: append([]string{""}, texts(farm.RewriteLocations())...), null: true,
			about: "Location headers of responses to rewrite; empty uses the farm's setting."},
		get: func(s *farm.Service) Value { return textValue(string(s.RewriteLocation)) },
		set: func(s *farm.Service, v Value) { s.RewriteLocation = farm.RewriteLocation(v.text) },
	},
	{
		rule: rule{name: "pinnedconnection", hints: advanced(atBackends, "Pinned connection"), kind: kindNumber, values: []string{"0", "1"}, about: "Keep each client connection on the first backend connection it used."},
		get: func(s *farm.Service) Value {
			if s.Pinned {
				return numberValue(1)
			}
			return numberValue(0)
		},
		set: func(s *farm.Service, v Value) { s.Pinned = v.number == 1 },
	},
	{
		rule: rule{name: "abortonclose", hints: advanced(atRequests, "Abort on client close"), kind: kindBool, unset: boolValue(true),
			about: "Abort the request when the client half-closes its connection (FIN, close_notify); a reset always aborts it. Use false for clients that half-close and still read the response."},
		get: func(s *farm.Service) Value { return boolValue(!s.IgnoreClose) },
		set: func(s *farm.Service, v Value) { s.IgnoreClose = !v.truth },
	},
}

// stsFields are the fields of Strict-Transport-Security.
var stsFields = []field[farm.Service]{
	{
		rule: rule{name: "sts_status", hints: basic(atResponses, "Strict-Transport-Security"), kind: kindBool, about: "Send Strict-Transport-Security; only with listener https."},
		get:  func(s *farm.Service) Value { return boolValue(s.STS != 0) },
		set: func(s *farm.Service, v Value) {
			switch {
			case !v.truth:
				s.STS = 0
			case s.STS == 0:
				s.STS = farm.DefaultSTS
			}
		},
	},
	{
		rule: rule{name: "sts_timeout", hints: basic(atResponses, "HSTS lifetime").in(inSeconds), kind: kindNumber, min: 1, max: MaxSTS, null: true, unset: numberValue(int64(farm.DefaultSTS)),
			only: with("sts_status"), about: "max-age of Strict-Transport-Security, in seconds."},
		get: func(s *farm.Service) Value { return numberValue(int64(cmp.Or(s.STS, farm.DefaultSTS))) },
		set: func(s *farm.Service, v Value) { s.STS = cmp.Or(farm.Seconds(v.number), farm.DefaultSTS) },
	},
}

// option returns the field of a boolean.
func option(name string, h hints, about string, at func(*farm.Service) *bool) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindBool, about: about},
		get:  func(s *farm.Service) Value { return boolValue(*at(s)) },
		set:  func(s *farm.Service, v Value) { *at(s) = v.truth },
	}
}

// conditions returns the field of a list of regexes for header lines.
func conditions(name string, h hints, about string, at func(*farm.Service) *[]string) field[farm.Service] {
	return field[farm.Service]{
		rule: rule{name: name, hints: h, kind: kindList, format: "regex", null: true, max: MaxConditions, maxLen: MaxPattern, check: checkVeiled,
			must: "a valid regular expression", musts: "a list of regular expressions", about: about},
		get: func(s *farm.Service) Value { return listValue(*at(s)) },
		set: func(s *farm.Service, v Value) { *at(s) = v.list },
	}
}

// splitFields define the share of a service among its neighbours. 0 is a valid weight, so
// unset is an invalid number.
var splitFields = []field[farm.Service]{
	{
		rule: rule{name: "split", hints: advanced(atMatching, "Traffic share"), bare: leftOut, kind: kindNumber, max: farm.MaxSplit, null: true, unset: numberValue(-1),
			about: "Weight for splitting traffic among adjacent services with this setting: one of those that match is chosen at random; clients with a session or cookie stay. 0 accepts only such clients; unset disables splitting."},
		get: func(s *farm.Service) Value {
			if s.Split == nil {
				return numberValue(-1)
			}
			return numberValue(int64(*s.Split))
		},
		set: func(s *farm.Service, v Value) {
			s.Split = nil
			if !v.Null() {
				n := uint8(v.number)
				s.Split = &n
			}
		},
	},
}

// servedByFields is the response header that names the backend.
var servedByFields = []field[farm.Service]{{
	rule: rule{name: "served_by", hints: advanced(atResponses, "Backend response header"), kind: kindText, blank: true, null: true, maxLen: 64, check: checkServedBy, format: "name of a header",
		must:  "the name of a header (letters, digits and !#$%&'*+.^_`|~-)",
		about: "Response header with the alias or address of the backend, for debugging; empty disables it. It reveals your network to clients."},
	get: func(s *farm.Service) Value { return textValue(s.ServedBy) },
	set: func(s *farm.Service, v Value) { s.ServedBy = v.text },
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
