package cases

import "regexp"

// Kind is the procedure of a case.
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
	// additional slow clients.
	Slow Kind = "slow"
)

// Case is one row of the table.
type Case struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Kind  Kind   `json:"kind"`
	// Unit is the unit of one request in the report: "request" or "MiB".
	Unit        string `json:"unit"`
	Connections int    `json:"connections"`
	Method      string `json:"method"`
	Path        string `json:"path"`
	Host        string `json:"host"`
	Body        int    `json:"body,omitempty"` // bytes sent with each request
	Expect      int    `json:"expect"`         // bytes of each response body
	New         bool   `json:"new,omitempty"`  // a connection per request
	Rate        int    `json:"rate,omitempty"` // requests per second; 0: full load
	Slow        int    `json:"slow,omitempty"` // slow clients in addition to the load
	Rules       Rules  `json:"rules"`          // how requests are routed
	// Secure is the use of TLS by clients; empty: none. Key is the type of the
	// certificate's key, valid with Secure.
	Secure Secure `json:"secure,omitempty"`
	Key    Key    `json:"key,omitempty"`
	// Streams makes clients use HTTP/2 with that many concurrent streams per connection;
	// 0: HTTP/1.1.
	Streams int `json:"streams,omitempty"`
	// Relay makes contestants relay bytes without parsing (layer 4). The load and the
	// backend are the same.
	Relay bool `json:"relay,omitempty"`
	// Window replaces the load by datagrams of Body bytes that are echoed, with that many
	// in flight for each of Connections clients; 0: connections. The figure is the CPU
	// time of contestant, client and backend together, minus that of client and backend
	// without a contestant.
	Window int `json:"window,omitempty"`
	// Feature is an additional function of the contestants.
	Feature Feature `json:"feature,omitempty"`
	// Default keeps the default number of loops, threads and workers, and pins no
	// process. Like is the name of the same case with one of each, whose ratio in the
	// same run bounds this one's (see LikeMargin).
	Default    bool   `json:"default,omitempty"`
	Like       string `json:"like,omitempty"`
	BufferSize int    `json:"buffer,omitempty"` // HAProxy's tune.bufsize; 0: default
	// Stretch multiplies the duration of the slices; 0 means 1.
	Stretch int `json:"stretch,omitempty"`
	// Rounds bounds the rounds of cases that restart contestants; 0: no bound.
	Rounds int `json:"max_rounds,omitempty"`
	// Targets are the highest ratios Sluice may have, by contestant.
	Targets map[string]float64 `json:"targets,omitempty"`
	// Extra is the limit of the additional CPU time per request over Sluice's own plain
	// case, in microseconds; 0: not checked.
	Extra float64 `json:"extra_us,omitempty"`
	// Limit is the maximum growth factor of p99 with slow clients, or the maximum memory
	// at rest in MiB.
	Limit float64 `json:"limit,omitempty"`
}

// Rules determines how a contestant routes a request.
type Rules string

// Sets of rules.
const (
	// One is a single service with one Host and one URL rule.
	One Rules = "one"
	// Prefix is a hundred services, each with an exact host and a URL prefix. The load
	// requests the last one.
	Prefix Rules = "prefix"
	// Regex is the same with a regex for each host and each URL.
	Regex Rules = "regex"
)

// Secure is the use of TLS by clients.
type Secure string

// Uses of TLS; the zero value is none. All use TLS 1.3 with X25519 and AES-128-GCM.
const (
	// Kept connections complete their handshake before the measurement.
	Kept Secure = "kept"
	// Full is a connection with a full handshake per request, without tickets.
	Full Secure = "full"
	// Resumed is a connection per request whose handshake resumes an earlier session by a
	// ticket.
	Resumed Secure = "resumed"
)

// Key is a type of private key.
type Key string

// Types of keys.
const (
	ECDSA Key = "ecdsa" // P-256
	RSA   Key = "rsa"   // 2048 bits
)

// Feature is a function of a proxy that costs time in addition to proxying.
type Feature string

// Features; the zero value is none.
const (
	// AccessLog writes one line per request to a file.
	AccessLog Feature = "accesslog"
	// Cookie keeps clients on their backend by a cookie of the application, and adds a
	// header to requests and one to responses.
	Cookie Feature = "cookie"
	// CookieInsert is Cookie with a cookie set by the proxy.
	CookieInsert Feature = "cookieinsert"
)

// Names in the cookie cases.
const (
	CookieName     = "bench"
	RequestHeader  = "X-Bench: request"
	ResponseHeader = "X-Bench: response"
)

// LikeMargin is the maximum excess of the ratio of a case over that of the case in Like.
const LikeMargin = 0.03

// Services is the number of services in the sets Prefix and Regex.
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
