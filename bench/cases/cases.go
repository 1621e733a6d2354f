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
	Body        int    `json:"body,omitempty"`   // bytes sent with each request
	Expect      int    `json:"expect"`           // bytes of each response body
	New         bool   `json:"new,omitempty"`    // a connection per request
	Rate        int    `json:"rate,omitempty"`   // requests per second; 0: full load
	Slow        int    `json:"slow,omitempty"`   // slow clients beside the load
	Rules       Rules  `json:"rules"`            // how requests find their service
	BufferSize  int    `json:"buffer,omitempty"` // HAProxy's tune.bufsize; 0: default
	// Stretch makes the slices that many times longer than those of other
	// cases; 0 and 1: as long.
	Stretch int `json:"stretch,omitempty"`
	// Rounds bounds the rounds of cases that restart contestants; 0: no bound.
	Rounds int `json:"max_rounds,omitempty"`
	// Targets are the highest ratios Sluice may have, by contestant.
	Targets map[string]float64 `json:"targets,omitempty"`
	// Extra is what the rules may add to the CPU time of a request of Sluice's
	// own plain case, in microseconds; 0: not looked at.
	Extra float64 `json:"extra_us,omitempty"`
	// Limit is the highest factor by which p99 may grow beside slow clients.
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

// Services is how many services the sets Prefix and Regex have.
const Services = 100

// PlainHost is the host of the rule set One.
const PlainHost = "bench.example.org"

// All returns the cases in the order they are run.
func All() []Case {
	get := Case{Kind: Throughput, Unit: "request", Method: "GET", Host: PlainHost, Rules: One}
	with := func(edit func(*Case)) Case {
		c := get
		edit(&c)
		return c
	}
	last := Service(Services)
	return []Case{
		with(func(c *Case) {
			c.Name, c.Title = "get128-c64", "GET 128 B, 64 connections"
			c.Connections, c.Path, c.Expect = 64, "/128", 128
			c.Targets = targets(0.85, 0.85)
		}),
		with(func(c *Case) {
			c.Name, c.Title = "get128-c512", "GET 128 B, 512 connections"
			c.Connections, c.Path, c.Expect = 512, "/128", 128
			c.Targets = targets(0.75, 0.75)
		}),
		with(func(c *Case) {
			c.Name, c.Title = "get10k-c64", "GET 10 KiB, 64 connections"
			c.Connections, c.Path, c.Expect = 64, "/10k", 10<<10
			c.Targets = targets(0.88, 0.80)
		}),
		with(func(c *Case) {
			c.Name, c.Title, c.Unit = "get1m-c16", "GET 1 MiB, 16 connections (HAProxy with 64 KiB buffers)", "MiB"
			c.Connections, c.Path, c.Expect, c.BufferSize = 16, "/1m", 1<<20, 64<<10
			c.Targets = targets(0.95, 0.50)
		}),
		with(func(c *Case) {
			c.Name, c.Title = "post10k-c64", "POST 10 KiB, 128 B back, 64 connections"
			c.Method, c.Connections, c.Path, c.Body, c.Expect = "POST", 64, "/128", 10<<10, 128
		}),
		with(func(c *Case) {
			c.Name, c.Title = "services100-prefix", "100 services by Host and URL prefix, the last one matches, 64 connections"
			c.Rules, c.Host, c.Path = Prefix, last.Host, last.Prefix+"128"
			c.Connections, c.Expect = 64, 128
			c.Targets, c.Extra = targets(0.87, 0.85), 0.4
		}),
		with(func(c *Case) {
			c.Name, c.Title = "services100-regex", "100 services by Host and URL regex, the last one matches, 64 connections"
			c.Rules, c.Host, c.Path = Regex, last.RegexHost, last.RegexPath+"128"
			c.Connections, c.Expect = 64, 128
		}),
		with(func(c *Case) {
			c.Name, c.Title = "newconn-c64", "GET 128 B, a new connection per request, 64 at once"
			c.Connections, c.Path, c.Expect, c.New = 64, "/128", 128, true
			c.Targets = targets(1.0, 1.0)
		}),
		with(func(c *Case) {
			c.Name, c.Title = "idle9000", "memory of 9,000 idle client connections, one request each"
			c.Kind, c.Connections, c.Path, c.Expect, c.Rounds = Idle, 9000, "/128", 128, 3
			c.Targets = targets(0.35, 0.70)
		}),
		with(func(c *Case) {
			c.Name, c.Title = "slow15000", "p99 at 4,000 requests/s beside 15,000 clients that send one byte per second"
			c.Kind, c.Connections, c.Path, c.Expect, c.Stretch = Slow, 64, "/128", 128, 3
			c.Rate, c.Slow, c.Limit = 4000, 15000, 2
		}),
	}
}

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
