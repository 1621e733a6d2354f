package cases

import (
	"fmt"
	"regexp"
)

// Rule routes requests to one service of a contestant. The regexes use the common syntax
// of RE2 and PCRE.
type Rule struct {
	Name      string
	Host      string // exact host; empty matches all
	Prefix    string // prefix of the path, with both slashes
	HostRegex string // anchored at the start by the contestant
	PathRegex string
	RegexHost string // a host that HostRegex matches
	RegexPath string // the start of a path that PathRegex matches
}

// Service returns the rule of service n, counted from 1. In the regexes the number
// follows a variable part, so that neither a literal prefix nor a map can distinguish the
// services.
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

// VHost returns the host rule as a regex, without an anchor at the start, which
// contestants add.
func (r Rules) VHost(rule Rule) string {
	if r == Regex {
		return rule.HostRegex
	}
	return regexp.QuoteMeta(rule.Host) + "$"
}

// URL returns the path rule as a regex.
func (r Rules) URL(rule Rule) string {
	if r == Regex {
		return rule.PathRegex
	}
	return "^" + regexp.QuoteMeta(rule.Prefix)
}
