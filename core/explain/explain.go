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
	Listener   string `json:"listener" doc:"Address and port clients connect to"`
	TLS        bool   `json:"tls" doc:"Clients speak TLS"`
	Generation uint64 `json:"generation" doc:"Of the configuration the engine runs"`
	From       string `json:"from" doc:"Address the request comes from"`
	SNI        string `json:"sni,omitempty" doc:"Name the TLS connection is made for"`

	Request     *Request     `json:"request,omitempty" doc:"The request as it is read; absent when it cannot be read"`
	Steps       []Step       `json:"steps,omitempty" doc:"What the request had to pass, in order; the last one may be where it ends"`
	Services    []Service    `json:"services,omitempty" doc:"The services that were tried, in order"`
	NotTried    int          `json:"services_not_tried,omitempty" doc:"How many follow the one that matched"`
	Changes     []Change     `json:"changes,omitempty" doc:"What rules change of the request, in order"`
	Cookie      *Cookie      `json:"cookie,omitempty" doc:"The cookie by which the service keeps clients"`
	Persistence *Persistence `json:"persistence,omitempty" doc:"The session of the client"`
	Balance     *Balance     `json:"balance,omitempty" doc:"How the backend is chosen"`
	Head        []string     `json:"head,omitempty" doc:"The request as the backend would get it, line by line; secrets are masked"`
	Passport    *Passport    `json:"passport,omitempty" doc:"What a question is answered with, and why"`

	AnswerChanges []Change `json:"answer_changes,omitempty" doc:"What rules change of the answer that was asked about, in order"`
	AnswerHead    []string `json:"answer_head,omitempty" doc:"That answer as rules leave it, line by line; secrets are masked. Location, and what the engine sets itself, is not in it"`

	Result Result `json:"result"`
}

// Request is the request as parsed.
type Request struct {
	Method string `json:"method"`
	Host   string `json:"host,omitempty" doc:"Canonical, with its port if it has one"`
	Path   string `json:"path" doc:"Canonical, with its query"`
	// Sent is empty if it equals Path.
	Sent     string   `json:"sent,omitempty" doc:"The path that the backend gets unless a rule rewrites it; absent when it is the canonical one"`
	Readings []string `json:"readings,omitempty" doc:"Other forms in which backends may read the path: decoded, without parameters. Rules that protect apply to each of them"`
	// Trusted means that the peer's statements about the client are accepted.
	Trusted bool `json:"trusted" doc:"The address is a trusted peer's"`
}

// Passport describes the response to a DNS query and how it was determined.
type Passport struct {
	Question   string      `json:"question" doc:"Name and type"`
	Rcode      string      `json:"rcode" doc:"NOERROR, NXDOMAIN, SERVFAIL or REFUSED"`
	Zone       string      `json:"zone,omitempty" doc:"The zone of the name"`
	Serial     uint32      `json:"serial,omitempty" doc:"Of the zone"`
	Path       []NameStep  `json:"path,omitempty" doc:"The names that were found on the way, in order"`
	Scope      int         `json:"scope" doc:"How many bits of the client's net the answer depends on"`
	Truncated  bool        `json:"truncated,omitempty" doc:"By UDP it does not fit: the client asks again by TCP"`
	Records    []string    `json:"records,omitempty" doc:"The answer, as master files have it"`
	Authority  []string    `json:"authority,omitempty" doc:"The section that says whose word it is"`
	Additional []string    `json:"additional,omitempty" doc:"Addresses clients ask for next"`
	Service    string      `json:"service,omitempty" doc:"The service that chose"`
	Algorithm  string      `json:"algorithm,omitempty" doc:"Of the service"`
	Place      string      `json:"place,omitempty" doc:"Where the GeoIP database says the client is: country, continent and coordinates; absent where nobody asked, or it does not know"`
	Candidates []Candidate `json:"candidates,omitempty" doc:"The backends of the service that have an address of the type"`
}

// NameStep is a name found during the lookup, and the record type used.
type NameStep struct {
	Zone string `json:"zone" doc:"Its zone"`
	Name string `json:"name" doc:"As the zone has it: of a wildcard with its star"`
	Type string `json:"type,omitempty" doc:"Of the records that were used; absent when there are none"`
}

// Candidate is a backend of a gslb service, with the criteria for and against it.
type Candidate struct {
	ID      int    `json:"id" doc:"Number of the backend"`
	Address string `json:"address"`
	Weight  int    `json:"weight"`
	Status  string `json:"status" enum:"up,down,undefined,maintenance"`
	Near    bool   `json:"near,omitempty" doc:"It is for the client's net, country or continent"`
	// Distance is absent if unknown.
	Distance *float64 `json:"distance,omitempty" doc:"Kilometres from the client"`
	Latency  float64  `json:"latency,omitempty" doc:"Milliseconds in which it lately answered its checks; absent when that is not known"`
	Load     *int     `json:"load,omitempty" doc:"Connections it has, as its farm or its check told; absent when nobody does"`
	Taken    bool     `json:"taken" doc:"The answer has its address"`
	Reason   string   `json:"reason"`
}

// Step is one check.
type Step struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty" doc:"Why it was not passed, or what was found"`
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
	Owner  string `json:"owner" enum:"farm,service" doc:"Whose rule it is"`
	Rule   int    `json:"rule" doc:"Position in its list; -1 when the whole list is meant"`
	Header string `json:"header,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Last   bool   `json:"last,omitempty" doc:"The rules behind it were not tried"`
}

// Cookie is the cookie of a service.
type Cookie struct {
	Name    string `json:"name"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend it names; absent when the request has none that names one"`
	Reason  string `json:"reason"`
}

// Persistence describes how a service identifies the client.
type Persistence struct {
	Kind string `json:"kind" doc:"IP, BASIC, URL, PARM, COOKIE or HEADER"`
	Name string `json:"name,omitempty" doc:"Of the cookie, header or parameter"`
	// Key is a digest if the value may contain credentials.
	Key     string `json:"key,omitempty" doc:"What the client is recognised by; the digest of a cookie, header or user"`
	Found   bool   `json:"found" doc:"There is a session"`
	Static  bool   `json:"static,omitempty" doc:"The session was made by an operator"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend the session names"`
	Reason  string `json:"reason"`
}

// Balance describes how a backend is chosen.
type Balance struct {
	Algorithm string    `json:"algorithm"`
	Random    bool      `json:"random,omitempty" doc:"The backend was drawn: the next request may go to another one that could be"`
	Protocol  string    `json:"protocol" enum:"http1,h2,tcp,udp" doc:"What the backends speak; the head is shown as HTTP/1.1 has it"`
	Pinned    bool      `json:"pinned,omitempty" doc:"A client that has a connection to a backend stays with it; the request is explained as its first"`
	Level     int       `json:"priority_level" doc:"Backends up to this priority are served"`
	Backends  []Backend `json:"backends" doc:"1,000 at most, the chosen one among them"`
	NotShown  int       `json:"backends_not_shown,omitempty" doc:"How many more backends there are"`
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
	InFlight    int64  `json:"in_flight" doc:"Exchanges it serves now"`
	Limit       int64  `json:"limit,omitempty" doc:"Most exchanges it may serve; 0 means no limit"`
	Cost        string `json:"cost,omitempty" doc:"What the algorithm compares, before weights"`
	Chosen      bool   `json:"chosen"`
	Might       bool   `json:"might" doc:"It could have been chosen"`
	Reason      string `json:"reason"`
	Maintenance string `json:"maintenance,omitempty" enum:"drain,cut"`
	// Name is the host name from which the address was resolved. mgmt adds it, because
	// the engine knows only addresses.
	Name *Name `json:"name,omitempty" doc:"The host name the address comes from"`
}

// Name describes a host name.
type Name struct {
	Name    string `json:"name"`
	Age     *int64 `json:"age,omitempty" doc:"Seconds since its addresses were told"`
	Problem string `json:"problem,omitempty" doc:"Why it is not resolved at the moment"`
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
	Status   int    `json:"status,omitempty" doc:"Of an answer that is given without a backend"`
	Reason   string `json:"reason"`
	Step     string `json:"step,omitempty" doc:"Where it was refused"`
	Location string `json:"location,omitempty" doc:"Where it is redirected to"`
	Service  string `json:"service,omitempty"`
	Backend  *int   `json:"backend,omitempty" doc:"Number of the chosen backend"`
	Address  string `json:"address,omitempty" doc:"Of the chosen backend"`
	// Decision is the reason for the choice of the backend, as in access logs.
	Decision string `json:"decision,omitempty" doc:"How the backend was found, as decision in access logs"`
}

// Clip truncates a text of an answer to MaxText bytes.
func Clip(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:MaxText] + "…"
}
