package cases

import "regexp"

// Kind says how a case is run.
type Kind string

// The kinds of cases.
const (
	// Throughput compares CPU time per request under full load.
	Throughput Kind = "throughput"
	// Idle compares the memory of idle connections.
	Idle Kind = "idle"
	// Rest compares the memory of contestants without any client.
	Rest Kind = "rest"
	// Slow compares the latency of paced requests with and without thousands of
	// slow clients beside them.
	Slow Kind = "slow"
)

// Case is one row of the table.
type Case struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Unit is what one request counts as in the report: "request" or "MiB".
	Unit        string `json:"unit"`
	Connections int    `json:"connections"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Host        string `json:"host"`
	Body        int    `json:"body,omitempty"` // bytes sent with each request
	Expect      int    `json:"expect"`         // bytes of each response body
	New         bool   `json:"new,omitempty"`  // a connection per request
	Rate        int    `json:"rate,omitempty"` // requests per second; 0: full load
	Slow        int    `json:"slow,omitempty"` // slow clients beside the load
	Rules       Rules  `json:"rules"`          // how requests find their service
	// Secure says how clients speak TLS; empty: they do not. Key is the kind of
	// the certificate's key, valid with Secure.
	Secure Secure `json:"secure,omitempty"`
	Key    Key    `json:"key,omitempty"`
	// Streams makes clients speak HTTP/2 with that many streams at once on each
	// connection; 0: HTTP/1.1.
	Streams int `json:"streams,omitempty"`
	// Relay makes contestants pass bytes on without reading them (layer 4). The
	// load and the backend are the same.
	Relay bool `json:"relay,omitempty"`
	// Window makes the load datagrams of Body bytes that come back, so many under
	// way for each of Connections clients; 0: there are connections. What counts
	// is the processor time of contestant, client and backend together, less that
	// of client and backend without a contestant between them.
	Window int `json:"window,omitempty"`
	// Feature is what contestants do besides proxying.
	Feature Feature `json:"feature,omitempty"`
	// Default leaves contestants the loops, threads and workers they have when
	// nobody says how many, and pins nobody. Like names the same case with one of
	// each, whose ratio in the same run bounds this one's (see LikeMargin).
	Default    bool   `json:"default,omitempty"`
	Like       string `json:"like,omitempty"`
	BufferSize int    `json:"buffer,omitempty"` // HAProxy's tune.bufsize; 0: default
	// Stretch makes the slices that many times longer than those of other
	// cases; 0 and 1: as long.
	Stretch int `json:"stretch,omitempty"`
	// Rounds bounds the rounds of cases that restart contestants; 0: no bound.
	Rounds int `json:"max_rounds,omitempty"`
	// Targets are the highest ratios Sluice may have, by contestant.
	Targets map[string]float64 `json:"targets,omitempty"`
	// Extra is what rules or features may add to the CPU time of a request of
	// Sluice's own plain case, in microseconds; 0: not looked at.
	Extra float64 `json:"extra_us,omitempty"`
	// Limit is the highest factor by which p99 may grow beside slow clients, or
	// the highest memory at rest in MiB.
	Limit float64 `json:"limit,omitempty"`
}

// Rules says how a contestant finds the service of a request.
type Rules string

// The sets of rules.
const (
	// One is a single service with one Host and one URL rule.
	One Rules = "one"
	// Prefix is a hundred services, each with an exact host and a URL prefix;
	// the load asks for the last one.
	Prefix Rules = "prefix"
	// Regex is the same with a real regex for each host and each URL.
	Regex Rules = "regex"
)

// Secure says how clients speak TLS.
type Secure string

// The ways to speak TLS; the zero value is none. It is version 1.3 with X25519
// and AES-128-GCM in all.
const (
	// Kept connections do their handshake before anything is measured.
	Kept Secure = "kept"
	// Full is a connection with a full handshake per request. Nobody issues or
	// takes tickets.
	Full Secure = "full"
	// Resumed is a connection per request whose handshake resumes the session of
	// an earlier one by a ticket.
	Resumed Secure = "resumed"
)

// Key is a kind of private key.
type Key string

// The kinds of keys.
const (
	ECDSA Key = "ecdsa" // P-256
	RSA   Key = "rsa"   // 2048 bits
)

// Feature is something that costs a proxy time besides proxying.
type Feature string

// The features; the zero value is none.
const (
	// AccessLog writes one line per request to a file.
	AccessLog Feature = "accesslog"
	// Cookie keeps clients on their backend by a cookie of the application, and
	// adds a field to requests and one to responses.
	Cookie Feature = "cookie"
	// CookieInsert does so by a cookie the proxy sets itself.
	CookieInsert Feature = "cookieinsert"
)

// What the contestants use in the cookie cases.
const (
	CookieName     = "bench"
	RequestHeader  = "X-Bench: request"
	ResponseHeader = "X-Bench: response"
)

// LikeMargin is how much the ratio of a case may be above that of the case it is
// like.
const LikeMargin = 0.03

// Services is how many services the sets Prefix and Regex have.
const Services = 100

// PlainHost is the host of the rule set One.
const PlainHost = "bench.example.org"

func targets(haproxy, nginx float64) map[string]float64 {
	return map[string]float64{"haproxy": haproxy, "nginx": nginx}
}

// Select returns the cases whose name matches the pattern; the empty pattern
// matches all.
func Select(pattern string) ([]Case, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, c := range All() {
		if re.MatchString(c.Name) {
			out = append(out, c)
		}
	}
	return out, nil
}
