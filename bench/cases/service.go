package cases

import (
	"fmt"
	"regexp"
)

// Rule is how one service of a contestant is found. The regexes are written in
// the syntax that RE2 and PCRE share.
type Rule struct {
	Name      string
	Host      string // exact host; empty matches all
	Prefix    string // prefix of the path, with both slashes
	HostRegex string // anchored at the start by whoever uses it
	PathRegex string
	RegexHost string // a host that HostRegex matches
	RegexPath string // the start of a path that PathRegex matches
}

// Service returns the rule of service n, counted from 1. In the regexes the
// number comes after a variable part, so neither a literal prefix nor a map
// can tell the services apart.
func Service(n int) Rule {
	return Rule{
		Name:      fmt.Sprintf("s%03d", n),
		Host:      fmt.Sprintf("www%03d.example.org", n),
		Prefix:    fmt.Sprintf("/app%03d/", n),
		HostRegex: fmt.Sprintf(`(www|shop)[a-z]*%03d\.example\.(org|net)$`, n),
		PathRegex: fmt.Sprintf(`^/[a-z]+%03d/(v[0-9]+/)?[0-9a-z]+$`, n),
		RegexHost: fmt.Sprintf("shop%03d.example.org", n),
		RegexPath: fmt.Sprintf("/app%03d/v2/", n),
	}
}

// Table returns the rules of a set in matching order.
func (r Rules) Table() []Rule {
	if r == One {
		return []Rule{{
			Name: "bench", Host: PlainHost, Prefix: "/",
			HostRegex: regexp.QuoteMeta(PlainHost) + "$", PathRegex: "^/",
		}}
	}
	out := make([]Rule, Services)
	for i := range out {
		out[i] = Service(i + 1)
	}
	return out
}

// VHost is the host rule as a regex, exact or real depending on the set; it is
// not anchored at the start, the family does that itself.
func (r Rules) VHost(rule Rule) string {
	if r == Regex {
		return rule.HostRegex
	}
	return regexp.QuoteMeta(rule.Host) + "$"
}

// URL is the path rule as a regex, a prefix or real depending on the set.
func (r Rules) URL(rule Rule) string {
	if r == Regex {
		return rule.PathRegex
	}
	return "^" + regexp.QuoteMeta(rule.Prefix)
}
