package table

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
)

// Step is a step of a request on its way to a backend.
type Step string

// The steps, in order.
const (
	StepTLS       Step = "tls"
	StepClients   Step = "clients"
	StepRequest   Step = "request"
	StepChallenge Step = "challenge"
	stepHost      Step = "host"
	stepMethod    Step = "method"
	StepPath      Step = "path" // of path_policy strict and canonical
	stepLimits    Step = "limits"
	stepSplit     Step = "split" // once a service is selected
	stepRate      Step = "rate"
	StepAuth      Step = "auth"
	stepReadings  Step = "readings" // services that protect another reading of the path
)

// Steps after those that may end a request.
const (
	stepServices Step = "services"
	StepRules    Step = "rules"
	stepRedirect Step = "redirect"
	StepBackends Step = "backends"
	StepResponse Step = "response" // the response head is explained, too
)

// Trail records the decisions about an explained request. All code that decides about
// requests reports to it. Traffic has no trail.
type Trail struct {
	*explain.Explanation // output

	owner   string          // owner of the current rules
	own     int             // number of replace rules of the service
	ownCuts int             // number of remove rules of the service
	path    []byte          // before the next path rule
	hidden  map[string]bool // fields with secret values
}

// NewTrail returns a trail for a request to the farm, which writes to an explanation.
func (f *Farm) NewTrail(to *explain.Explanation) Trail {
	return Trail{Explanation: to, owner: ownerFarm, hidden: f.hidden()}
}

// Pass records a passed step.
func (t *Trail) Pass(at Step) {
	t.Steps = append(t.Steps, explain.Step{Name: string(at), Passed: true})
}

// Found is Pass with a finding.
func (t *Trail) Found(at Step, format string, args ...any) {
	t.Steps = append(t.Steps, explain.Step{Name: string(at), Passed: true, Reason: explain.Clip(fmt.Sprintf(format, args...))})
}

// Refuse ends the trail with an error response.
func (t *Trail) Refuse(at Step, status int, reason string) {
	t.Result.Outcome, t.Result.Status, t.Result.Reason, t.Result.Step = explain.Refuse, status, reason, string(at)
	switch at {
	case stepServices, StepRules, stepRedirect, StepBackends:
	default:
		t.Steps = append(t.Steps, explain.Step{Name: string(at), Reason: reason})
	}
}

// routed reports the evaluation of the services; chosen is the result of Match.
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

// quoted quotes without escaping, because patterns are full of backslashes.
func quoted[T string | []byte](s T) string { return `"` + string(s) + `"` }

// unmet describes the condition of a service that fails.
func (q *Query) unmet(rule int) string {
	c := q.Farm.Services[rule].conditions
	require, deny := c.unmet(&q.Req.Head, q.Scratch)
	if require >= 0 {
		return fmt.Sprintf("headrequire[%d]: no header matches %s", require, quoted(c.require[require].Pattern(0)))
	}
	return fmt.Sprintf("headdeny[%d]: a header matches %s", deny, quoted(c.deny.Pattern(deny)))
}

// matched describes the match of the selected service.
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
