// Package explain holds what is asked and answered about a request that was not
// sent: where it would go, and why. l7/proxy finds it out with the functions
// its exchanges run through; mgmt and the command line show it.
//
// Texts that come from the request or from a configuration are cut at MaxText
// bytes, and lists have bounds, so that an answer never grows past what one
// message of core/link holds. Values of fields that let their owner in are
// masked.
package explain

import "iter"

// Bounds of questions, in bytes and in fields, and of answers.
const (
	// MaxQuestion bounds method, URL and headers together: twice what a head may
	// have, so that what is too long is told as clients would be.
	MaxQuestion = 128 << 10
	MaxHeaders  = 1000
	// MaxText bounds one text of an answer, MaxItems each of its lists.
	MaxText  = 2 << 10
	MaxItems = 1000
	// MaxChanges bounds what rules are shown to have changed.
	MaxChanges = 256
)

// Question is a request to be explained.
type Question struct {
	Farm uint32 `json:"farm"` // stable number
	// Method is GET when it is empty.
	Method string `json:"method,omitempty"`
	// URL is a path with its query, or a whole URL of http or https.
	URL string `json:"url"`
	// Headers are field lines, "Name: value". Without a Host the one of the URL
	// is sent or, if that is a path, the address of the farm.
	Headers []string `json:"headers,omitempty"`
	// From is the address the request comes from; 127.0.0.1 when it is empty. For
	// farms of profile l4xnat it may have a port.
	From string `json:"from,omitempty"`
	// To is the address and port, or only one of the farm's addresses, that the
	// client of an l4xnat farm connects to; its first when it is empty.
	To string `json:"to,omitempty"`
	// Protocol is what the client of an l4xnat farm speaks, "tcp" or "udp"; what the
	// farm takes, tcp of both, when it is empty.
	Protocol string `json:"protocol,omitempty"`
	// SNI is the name TLS is asked for; when it is empty that of the URL or, if
	// that is a path, of the header Host.
	SNI string `json:"sni,omitempty"`
	// Name and Type are what a gslb farm is asked for; a missing type is A. From may be
	// a net then.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	// Answer is what a backend would answer: field lines, of which the first may be
	// a status line instead. Without one it is not asked what becomes of it.
	Answer []string `json:"answer,omitempty"`
}

// Explanation is the answer.
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

// Request is a request as it is read.
type Request struct {
	Method string `json:"method"`
	Host   string `json:"host,omitempty" doc:"Canonical, with its port if it has one"`
	Path   string `json:"path" doc:"Canonical, with its query"`
	// Sent is absent when it is Path.
	Sent     string   `json:"sent,omitempty" doc:"The path that the backend gets unless a rule rewrites it; absent when it is the canonical one"`
	Readings []string `json:"readings,omitempty" doc:"Other forms in which backends may read the path: decoded, without parameters. Rules that protect apply to each of them"`
	// Trusted peers are believed what they say about the client.
	Trusted bool `json:"trusted" doc:"The address is a trusted peer's"`
}

// Passport is what a question of the DNS is answered with, and how that was found.
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

// NameStep is a name that was found, and what of it was used.
type NameStep struct {
	Zone string `json:"zone" doc:"Its zone"`
	Name string `json:"name" doc:"As the zone has it: of a wildcard with its star"`
	Type string `json:"type,omitempty" doc:"Of the records that were used; absent when there are none"`
}

// Candidate is a backend of a service, and what speaks for or against it.
type Candidate struct {
	ID      int    `json:"id" doc:"Number of the backend"`
	Address string `json:"address"`
	Weight  int    `json:"weight"`
	Status  string `json:"status" enum:"up,down,undefined,maintenance"`
	Near    bool   `json:"near,omitempty" doc:"It is for the client's net, country or continent"`
	// Distance is absent where it is not known.
	Distance *float64 `json:"distance,omitempty" doc:"Kilometres from the client"`
	Latency  float64  `json:"latency,omitempty" doc:"Milliseconds in which it lately answered its checks; absent when that is not known"`
	Load     *int     `json:"load,omitempty" doc:"Connections it has, as its farm or its check told; absent when nobody does"`
	Taken    bool     `json:"taken" doc:"The answer has its address"`
	Reason   string   `json:"reason"`
}

// Step is a check.
type Step struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty" doc:"Why it was not passed, or what was found"`
}

// Service is a service that was tried.
type Service struct {
	Name    string `json:"name"`
	Matched bool   `json:"matched"`
	Reason  string `json:"reason"`
}

// Change is what one rule did to the request.
type Change struct {
	Kind   string `json:"kind" enum:"remove-header,replace-header,add-header,rewrite-url"`
	Owner  string `json:"owner" enum:"farm,service" doc:"Whose rule it is"`
	Rule   int    `json:"rule" doc:"Position in its list; -1 when the whole list is meant"`
	Header string `json:"header,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Last   bool   `json:"last,omitempty" doc:"The rules behind it were not tried"`
}

// Cookie is the cookie a service sets.
type Cookie struct {
	Name    string `json:"name"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend it names; absent when the request has none that names one"`
	Reason  string `json:"reason"`
}

// Persistence is what a service recognises the client by.
type Persistence struct {
	Kind string `json:"kind" doc:"IP, BASIC, URL, PARM, COOKIE or HEADER"`
	Name string `json:"name,omitempty" doc:"Of the cookie, header or parameter"`
	// Key is shown as the digest of what may let its owner in.
	Key     string `json:"key,omitempty" doc:"What the client is recognised by; the digest of a cookie, header or user"`
	Found   bool   `json:"found" doc:"There is a session"`
	Static  bool   `json:"static,omitempty" doc:"The session was made by an operator"`
	Backend *int   `json:"backend,omitempty" doc:"Number of the backend the session names"`
	Reason  string `json:"reason"`
}

// Balance is how a backend is chosen.
type Balance struct {
	Algorithm string    `json:"algorithm"`
	Random    bool      `json:"random,omitempty" doc:"The backend was drawn: the next request may go to another one that could be"`
	Protocol  string    `json:"protocol" enum:"http1,h2,tcp,udp" doc:"What the backends speak; the head is shown as HTTP/1.1 has it"`
	Pinned    bool      `json:"pinned,omitempty" doc:"A client that has a connection to a backend stays with it; the request is explained as its first"`
	Level     int       `json:"priority_level" doc:"Backends up to this priority are served"`
	Backends  []Backend `json:"backends" doc:"1,000 at most, the chosen one among them"`
	NotShown  int       `json:"backends_not_shown,omitempty" doc:"How many more backends there are"`
}

// Listed gives the positions in a list of n that an answer shows: the first
// MaxItems, of which the last makes room for chosen where that lies behind them.
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

// Backend is a backend of the service and what speaks for or against it.
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
	// Name is what the address comes from, when it does from a host name; the
	// engine knows none.
	Name *Name `json:"name,omitempty" doc:"The host name the address comes from"`
}

// Name is what is known of a host name.
type Name struct {
	Name    string `json:"name"`
	Age     *int64 `json:"age,omitempty" doc:"Seconds since its addresses were told"`
	Problem string `json:"problem,omitempty" doc:"Why it is not resolved at the moment"`
}

// What happens to a request.
const (
	Forward  = "forward"  // a backend answers
	Redirect = "redirect" // the service sends the client elsewhere
	Refuse   = "refuse"   // it is answered with an error
	Answer   = "answer"   // it is answered by the engine
	Wait     = "wait"     // it waits for a backend to have room
)

// Result is what happens to the request.
type Result struct {
	Outcome  string `json:"outcome" enum:"forward,redirect,refuse,answer,wait"`
	Status   int    `json:"status,omitempty" doc:"Of an answer that is given without a backend"`
	Reason   string `json:"reason"`
	Step     string `json:"step,omitempty" doc:"Where it was refused"`
	Location string `json:"location,omitempty" doc:"Where it is redirected to"`
	Service  string `json:"service,omitempty"`
	Backend  *int   `json:"backend,omitempty" doc:"Number of the chosen backend"`
	Address  string `json:"address,omitempty" doc:"Of the chosen backend"`
	// Decision is how the backend was found, as records of exchanges have it.
	Decision string `json:"decision,omitempty" doc:"How the backend was found, as decision in access logs"`
}

// Clip cuts a text of an answer.
func Clip(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return s[:MaxText] + "…"
}
