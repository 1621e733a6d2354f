package route

import "fmt"

// Reason is the evaluation of one rule.
type Reason struct {
	Rule int  // index into the compiled rules
	Host bool // the host pattern matched
	URL  bool // the URL pattern matched
	More bool // its other conditions hold; valid if both patterns matched
}

// Matched reports whether the rule matched.
func (r Reason) Matched() bool { return r.Host && r.URL && r.More }

// String names the decisive part.
func (r Reason) String() string {
	switch {
	case r.Matched():
		return fmt.Sprintf("rule %d matches", r.Rule)
	case r.Host && r.URL:
		return fmt.Sprintf("rule %d: what it asks for besides host and URL does not hold", r.Rule)
	case r.Host:
		return fmt.Sprintf("rule %d: the URL does not match", r.Rule)
	case r.URL:
		return fmt.Sprintf("rule %d: the host does not match", r.Rule)
	}
	return fmt.Sprintf("rule %d: neither host nor URL match", r.Rule)
}

// Explain returns every evaluated rule, in order. Only the last can have matched, and it is
// the result of Match. It runs the regular expressions and allocates, so it is unsuitable
// for traffic.
func (t *Table) Explain(host, target []byte, more Conditions) []Reason {
	bare := bareLen(host)
	var out []Reason
	for i, r := range t.rules {
		reason := Reason{Rule: i, Host: r.host.matches(host, bare), URL: r.url.matches(target, len(target))}
		reason.More = !r.more || reason.Host && reason.URL && more.Holds(i)
		out = append(out, reason)
		if reason.Matched() {
			break
		}
	}
	return out
}

// Rule returns the rule with that index as passed to Compile.
func (t *Table) Rule(i int) Rule { return t.rules[i].rule }

// Pattern returns the text of the pattern with that index.
func (s *Set) Pattern(i int) string { return s.texts[i] }
