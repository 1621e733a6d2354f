// Package explain defines questions and answers about the handling of a request that is
// not sent: its destination and the reasons. Package l7/proxy answers them with the
// functions that handle real exchanges; mgmt and the command line display the result.
//
// Texts from the request or the configuration are truncated to MaxText bytes, and lists
// are limited, so that an answer fits one message of core/link. Values of header fields
// with credentials are masked.
package explain

import "iter"

// Limits of questions, in bytes and in fields, and of answers.
const (
	// MaxQuestion is the maximum size of method, URL and headers together. It is twice
	// the limit for a request head, so that an oversized head is explained like a
	// client's.
	MaxQuestion = 128 << 10
	MaxHeaders  = 1000
	// MaxText is the maximum length of a text in an answer, MaxItems that of a list.
	MaxText  = 2 << 10
	MaxItems = 1000
	// MaxChanges is the maximum number of changes by rules in an answer.
	MaxChanges = 256
)

// Question is a request to explain.
type Question struct {
	Farm uint32 `json:"farm"` // stable number
	// Method defaults to GET.
	Method string `json:"method,omitempty"`
	// URL is a path with its query, or a full http or https URL.
	URL string `json:"url"`
	// Headers are field lines, "Name: value". If there is no Host, it is taken from the
	// URL or, if that is a path, from the farm's address.
	Headers []string `json:"headers,omitempty"`
	// From is the client's address, by default 127.0.0.1. For l4xnat farms it may
	// include a port.
	From string `json:"from,omitempty"`
	// To is the address and port that the client of an l4xnat farm connects to, or only
	// one of the farm's addresses. The default is the farm's first address.
	To string `json:"to,omitempty"`
	// Protocol is the client's protocol for an l4xnat farm, "tcp" or "udp". The default
	// is the farm's protocol; TCP if it has both.
	Protocol string `json:"protocol,omitempty"`
	// SNI is the TLS server name. The default is the host of the URL or, if that is a
	// path, the Host header.
	SNI string `json:"sni,omitempty"`
	// Name and Type are the query to a gslb farm; Type defaults to A. From may then be
	// a net.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	// Answer is a backend response whose handling is to be explained: field lines,
	// optionally preceded by a status line.
	Answer []string `json:"answer,omitempty"`
}

// Explanation is the answer to a Question.
type Explanation struct {
	Farm       string `json:"farm" doc:"Name of the farm"`
	Listener   string `json:"listener" doc:"Address and port that clients connect to"`
	TLS        bool   `json:"tls" doc:"Clients use TLS"`
	Generation uint64 `json:"generation" doc:"Revision of the configuration that the engine runs"`
	From       string `json:"from" doc:"Source address of the request"`
	SNI        string `json:"sni,omitempty" doc:"SNI name of the TLS connection"`

	Request     *Request     `json:"request,omitempty" doc:"Parsed request; absent if it cannot be parsed"`
	Steps       []Step       `json:"steps,omitempty" doc:"Checks that the request passed, in order; the last one may have rejected it"`
	Services    []Service    `json:"services,omitempty" doc:"Services checked, in order"`
	NotTried    int          `json:"services_not_tried,omitempty" doc:"Number of rules after the one that matched"`
	Changes     []Change     `json:"changes,omitempty" doc:"Changes that rules make to the request, in order"`
	Cookie      *Cookie      `json:"cookie,omitempty" doc:"Persistence cookie of the service"`
	Persistence *Persistence `json:"persistence,omitempty" doc:"Client session"`
	Balance     *Balance     `json:"balance,omitempty" doc:"Balancing algorithm"`
	Head        []string     `json:"head,omitempty" doc:"Request as sent to the backend, line by line; secrets are masked"`
	Passport    *Passport    `json:"passport,omitempty" doc:"Response to a query, with the reason"`

	AnswerChanges []Change `json:"answer_changes,omitempty" doc:"Changes that rules make to the given response, in order"`
	AnswerHead    []string `json:"answer_head,omitempty" doc:"Response after the rules, line by line, with secrets masked; without Location and headers set by the engine"`

	Result Result `json:"result"`
}

// Request is the request as parsed.
type Request struct {
	Method string `json:"method"`
	Host   string `json:"host,omitempty" doc:"Canonical, with its port if it has one"`
	Path   string `json:"path" doc:"Canonical, with its query"`
	// Sent is empty if it equals Path.
	Sent     string   `json:"sent,omitempty" doc:"Path sent to the backend unless a rule rewrites it; absent if it is the canonical one"`
	Readings []string `json:"readings,omitempty" doc:"Other forms of the path that backends may use: decoded, without parameters. Access rules apply to each form"`
	// Trusted means that the peer's statements about the client are accepted.
	Trusted bool `json:"trusted" doc:"The address belongs to a trusted peer"`
}

// Passport describes the response to a DNS query and how it was determined.
type Passport struct {
	Question   string      `json:"question" doc:"Name and type"`
	Rcode      string      `json:"rcode" doc:"NOERROR, NXDOMAIN, SERVFAIL or REFUSED"`
	Zone       string      `json:"zone,omitempty" doc:"Zone of the name"`
	Serial     uint32      `json:"serial,omitempty" doc:"Of the zone"`
	Path       []NameStep  `json:"path,omitempty" doc:"Names passed during resolution, in order"`
	Scope      int         `json:"scope" doc:"Prefix length of the client network that the response depends on"`
	Truncated  bool        `json:"truncated,omitempty" doc:"The response is too large for UDP: the client retries over TCP"`
	Records    []string    `json:"records,omitempty" doc:"Response in zone file format"`
	Authority  []string    `json:"authority,omitempty" doc:"Section that the permission belongs to"`
	Additional []string    `json:"additional,omitempty" doc:"Addresses that clients query next"`
	Service    string      `json:"service,omitempty" doc:"Service that chose the address"`
	Algorithm  string      `json:"algorithm,omitempty" doc:"Of the service"`
	Place      string      `json:"place,omitempty" doc:"Client location from the GeoIP database: country, continent and coordinates; absent if unused or unknown"`
	Candidates []Candidate `json:"candidates,omitempty" doc:"Backends of the service with an address of the type"`
}

// NameStep is a name found during the lookup, and the record type used.
type NameStep struct {
	Zone string `json:"zone" doc:"Zone"`
	Name string `json:"name" doc:"Name as written in the zone; a wildcard includes the asterisk"`
	Type string `json:"type,omitempty" doc:"TTL of the records used; absent if there are none"`
}

// Candidate is a backend of a gslb service, with the criteria for and against it.
type Candidate struct {
	ID      int    `json:"id" doc:"Number of the backend"`
	Address string `json:"address"`
	Weight  int    `json:"weight"`
	Status  string `json:"status" enum:"up,down,undefined,maintenance"`
	Near    bool   `json:"near,omitempty" doc:"The backend serves the client's network, country or continent"`
	// Distance is absent if unknown.
	Distance *float64 `json:"distance,omitempty" doc:"Kilometres from the client"`
	Latency  float64  `json:"latency,omitempty" doc:"Recent health check response time in milliseconds; absent if unknown"`
	Load     *int     `json:"load,omitempty" doc:"Number of connections reported by its farm or check; absent if unknown"`
	Taken    bool     `json:"taken" doc:"The response contains its address"`
	Reason   string   `json:"reason"`
}

// Step is one check.
type Step struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty" doc:"Reason for rejection, or result"`
}

// Service is a service that was compared with the request.
type Service struct {
	Name    string `json:"name"`
	Matched bool   `json:"matched"`
	Reason  string `json:"reason"`
}

// Change is the effect of one rule on the request.
type Change struct {
	Kind   string `json:"kind" enum:"remove-header,replace-header,add-header,rewrite-url"`
	Owner  string `json:"owner" enum:"farm,service" doc:"Owner of the rule"`
	Rule   int    `json:"rule" doc:"Position in the list; -1 refers to the whole list"`
	Header string `json:"header,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Last   bool   `json:"last,omitempty" doc:"The rules after it were skipped"`
}

// Cookie is the cookie of a service.
type Cookie struct {
	Name    string `json:"name"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend named by the cookie; absent if the request has no such cookie"`
	Reason  string `json:"reason"`
}

// Persistence describes how a service identifies the client.
type Persistence struct {
	Kind string `json:"kind" doc:"IP, BASIC, URL, PARM, COOKIE or HEADER"`
	Name string `json:"name,omitempty" doc:"Name of the cookie, header or parameter"`
	// Key is a digest if the value may contain credentials.
	Key     string `json:"key,omitempty" doc:"Client identity of the session; a digest for a cookie, header or user"`
	Found   bool   `json:"found" doc:"A session exists"`
	Static  bool   `json:"static,omitempty" doc:"The session was created by an operator"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend in the session"`
	Reason  string `json:"reason"`
}

// Balance describes how a backend is chosen.
type Balance struct {
	Algorithm string    `json:"algorithm"`
	Random    bool      `json:"random,omitempty" doc:"The backend was chosen at random; the next request may go to another eligible backend"`
	Protocol  string    `json:"protocol" enum:"http1,h2,tcp,udp" doc:"Protocol of the backends; the head is shown in HTTP/1.1 form"`
	Pinned    bool      `json:"pinned,omitempty" doc:"A client with a backend connection keeps it; the request is explained as its first one"`
	Level     int       `json:"priority_level" doc:"Backends with up to this priority are used"`
	Backends  []Backend `json:"backends" doc:"At most 1,000, including the chosen one"`
	NotShown  int       `json:"backends_not_shown,omitempty" doc:"Number of further backends"`
}

// Listed returns the indices of a list of length n that an answer shows: the first
// MaxItems. The last of them is replaced by chosen if that is beyond them.
func Listed(n, chosen int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range min(n, MaxItems) {
			if i == MaxItems-1 {
				i = max(i, chosen)
			}
			if !yield(i) {
				return
			}
		}
	}
}

// Backend is a backend of the service, with the criteria for and against it.
type Backend struct {
	ID          int    `json:"id" doc:"Position in the service"`
	Address     string `json:"address"`
	Alias       string `json:"alias,omitempty"`
	Weight      int    `json:"weight"`
	Priority    int    `json:"priority"`
	Status      string `json:"status" enum:"up,down,undefined,maintenance"`
	InFlight    int64  `json:"in_flight" doc:"Requests in flight"`
	Limit       int64  `json:"limit,omitempty" doc:"Maximum number of requests in flight; 0 disables the limit"`
	Cost        string `json:"cost,omitempty" doc:"Value compared by the algorithm, before weights"`
	Chosen      bool   `json:"chosen"`
	Might       bool   `json:"might" doc:"The backend was eligible"`
	Reason      string `json:"reason"`
	Maintenance string `json:"maintenance,omitempty" enum:"drain,cut"`
	// Name is the host name from which the address was resolved. mgmt adds it, because
	// the engine knows only addresses.
	Name *Name `json:"name,omitempty" doc:"Host name that the address was resolved from"`
}

// Name describes a host name.
type Name struct {
	Name    string `json:"name"`
	Age     *int64 `json:"age,omitempty" doc:"Seconds since its addresses were last resolved"`
	Problem string `json:"problem,omitempty" doc:"Reason why it cannot be resolved at the moment"`
}

// Outcomes of a request.
const (
	Forward  = "forward"  // a backend responds
	Redirect = "redirect" // the service redirects the client
	Refuse   = "refuse"   // the response is an error
	Answer   = "answer"   // the engine responds itself
	Wait     = "wait"     // it waits for a backend with free capacity
)

// Result is the outcome of the request.
type Result struct {
	Outcome  string `json:"outcome" enum:"forward,redirect,refuse,answer,wait"`
	Status   int    `json:"status,omitempty" doc:"For a response given without a backend"`
	Reason   string `json:"reason"`
	Step     string `json:"step,omitempty" doc:"Stage that rejected the request"`
	Location string `json:"location,omitempty" doc:"Redirect URL"`
	Service  string `json:"service,omitempty"`
	Backend  *int   `json:"backend,omitempty" doc:"Number of the chosen backend"`
	Address  string `json:"address,omitempty" doc:"For the chosen backend"`
	// Decision is the reason for the choice of the backend, as in access logs.
	Decision string `json:"decision,omitempty" doc:"Reason for choosing the backend, as in the field decision of access logs"`
}

// Clip truncates a text of an answer to MaxText bytes.
func Clip(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:MaxText] + "…"
}
