package table

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Step is what a request passes on its way to a backend.
type Step string

// The steps, in order.
const (
	StepTLS       Step = "tls"
	StepClients   Step = "clients"
	StepRequest   Step = "request"
	StepChallenge Step = "challenge"
	stepHost      Step = "host"
	stepFarm      Step = "farm" // something else the farm asks
	stepMethod    Step = "method"
	stepLimits    Step = "limits"
	stepSplit     Step = "split" // once a service is known
	stepRate      Step = "rate"
	StepAuth      Step = "auth"
)

// What can be the end of a request behind decide.
const (
	stepServices Step = "services"
	StepRules    Step = "rules"
	stepRedirect Step = "redirect"
	StepBackends Step = "backends"
)

// Trail is what a request that is explained leaves behind. Everything that
// decides about requests tells it what it found; for traffic there is none.
type Trail struct {
	*explain.Explanation
	Owner string // whose rules are being applied
	Own   int    // how many of the rules that replace are the service's
	Path  []byte // before the next rule for paths
	// Hidden are the fields whose values the farm's services keep secret.
	Hidden map[string]bool
}

// NewTrail returns a trail for a request to the farm.
func (f *Farm) NewTrail(to *explain.Explanation) Trail {
	return Trail{Explanation: to, Owner: OwnerFarm, Hidden: f.Hidden()}
}

const (
	OwnerFarm    = "farm"
	OwnerService = "service"
)

func (t *Trail) Pass(at Step) {
	t.Steps = append(t.Steps, explain.Step{Name: string(at), Passed: true})
}

// Found is pass with what was found.
func (t *Trail) Found(at Step, format string, args ...any) {
	t.Steps = append(t.Steps, explain.Step{Name: string(at), Passed: true, Reason: explain.Clip(fmt.Sprintf(format, args...))})
}

// Refuse ends the trail: the request is answered with an error.
func (t *Trail) Refuse(at Step, status int, reason string) {
	t.Result.Outcome, t.Result.Status, t.Result.Reason, t.Result.Step = explain.Refuse, status, reason, string(at)
	switch at {
	case stepServices, StepRules, stepRedirect, StepBackends:
	default:
		t.Steps = append(t.Steps, explain.Step{Name: string(at), Reason: reason})
	}
}

// routed tells how the services fared; chosen is what Match found.
func (t *Trail) routed(q *Query, chosen int) {
	f, r := q.Farm, q.Req
	for _, reason := range f.routes.Explain(r.Host, r.Path, q) {
		if len(t.Services) == explain.MaxItems {
			break
		}
		s := explain.Service{Name: f.Services[reason.Rule].Name, Matched: reason.Rule == chosen}
		rule := f.routes.Rule(reason.Rule)
		switch {
		case !reason.Host:
			s.Reason = fmt.Sprintf("host %s does not match %s", quoted(r.Host), quoted(rule.Host))
		case !reason.URL:
			s.Reason = fmt.Sprintf("url %s does not match %s", quoted(r.Path), quoted(rule.URL))
		case !reason.More:
			s.Reason = q.unmet(reason.Rule)
		default:
			s.Reason = matched(rule.Host, rule.URL, rule.More)
		}
		s.Reason = explain.Clip(s.Reason)
		t.Services = append(t.Services, s)
	}
	if chosen >= 0 {
		t.NotTried = len(f.Services) - chosen - 1
	}
}

// quoted leaves patterns readable: they are full of backslashes.
func quoted[T string | []byte](s T) string { return `"` + string(s) + `"` }

// unmet says which condition of a service does not hold.
func (q *Query) unmet(rule int) string {
	c := q.Farm.Services[rule].conditions
	require, deny := c.unmet(&q.Req.Head, q.Scratch)
	if require >= 0 {
		return fmt.Sprintf("headrequire[%d]: no header matches %s", require, quoted(c.require[require].Pattern(0)))
	}
	return fmt.Sprintf("headdeny[%d]: a header matches %s", deny, quoted(c.deny.Pattern(deny)))
}

// matched says what a service was chosen by.
func matched(host, url string, more bool) string {
	var by []string
	if host != "" {
		by = append(by, fmt.Sprintf("host matches %s", quoted(host)))
	}
	if url != "" {
		by = append(by, fmt.Sprintf("url matches %s", quoted(url)))
	}
	if more {
		by = append(by, "headers are as it asks")
	}
	if len(by) == 0 {
		return "takes every request"
	}
	return strings.Join(by, ", ")
}

func (t *Trail) Change(c explain.Change) {
	if len(t.Changes) < explain.MaxChanges {
		c.Header, c.Before, c.After = explain.Clip(c.Header), explain.Clip(c.Before), explain.Clip(c.After)
		t.Changes = append(t.Changes, c)
	}
}

// Removed implements rewrite.Observer.
func (t *Trail) Removed(h *http1.Head, i, rule int) {
	name := string(h.Name(i))
	t.Change(explain.Change{Kind: "remove-header", Owner: t.Owner, Rule: rule, Header: name, Before: t.masked(name, h.Value(i))})
}

// Replaced implements rewrite.Observer.
func (t *Trail) Replaced(h *http1.Head, i, rule int, before []byte) {
	c := explain.Change{Kind: "replace-header", Owner: OwnerService, Rule: rule, Header: string(h.Name(i))}
	if rule >= t.Own {
		c.Owner, c.Rule = OwnerFarm, rule-t.Own
	}
	c.Before, c.After = t.masked(c.Header, before), t.masked(c.Header, h.Value(i))
	t.Change(c)
}

// Rewritten tells what a rule made of the path.
func (t *Trail) Rewritten(rule int, path []byte) {
	t.Change(explain.Change{Kind: "rewrite-url", Owner: OwnerService, Rule: rule, Before: string(t.Path), After: string(path)})
	t.Path = bytes.Clone(path)
}

// Added tells which field lines rules add.
func (t *Trail) Added(owner string, lines []byte) {
	for i, line := range fieldLines(lines) {
		name, value, _ := strings.Cut(line, ": ")
		t.Change(explain.Change{Kind: "add-header", Owner: owner, Rule: i, Header: name, After: t.masked(name, []byte(value))})
	}
}

// fieldLines cuts a head, or what is to be added to one, into its lines.
func fieldLines(b []byte) []string {
	return strings.FieldsFunc(string(b), func(c rune) bool { return c == '\r' || c == '\n' })
}

// mask stands for a value that is not shown.
const mask = "***"

// secrets are the fields whose values let their owner in, in lower case.
var secrets = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range farm.DefaultRedact() {
		names[name] = true
	}
	return names
}()

// Hidden are the headers services find keys in, in lower case.
func (f *Farm) Hidden() map[string]bool {
	names := map[string]bool{}
	for i := range f.Services {
		if p := f.Services[i].Auth; p != nil && p.Keys != nil {
			names[p.Header] = true
		}
	}
	return names
}

// masked is a value of a field as it may be shown.
func (t *Trail) masked(name string, value []byte) string {
	if name = strings.ToLower(name); secrets[name] || t.Hidden[name] {
		return mask
	}
	return string(value)
}

// MaskedHead cuts a head into lines that may be shown.
func (t *Trail) MaskedHead(head []byte) (lines []string) {
	for i, line := range fieldLines(head) {
		if name, value, ok := strings.Cut(line, ": "); ok && i > 0 {
			line = name + ": " + t.masked(name, []byte(value))
		}
		lines = append(lines, explain.Clip(line))
	}
	return lines
}
