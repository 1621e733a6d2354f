package table

import (
	"bytes"
	"strings"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rewrite"
)

// Owners of the rules behind a change.
const (
	ownerFarm    = "farm"
	ownerService = "service"
)

// EnterService announces the rules of a service and the path they are given.
func (t *Trail) EnterService(s *Service, path []byte) {
	if rules := s.Request; rules != nil {
		t.own, t.ownCuts = rules.own, rules.ownCuts
	}
	t.owner, t.path = ownerService, bytes.Clone(path)
}

// LeaveService announces that the rules of a service were applied. Only the lines they add
// remain.
func (t *Trail) LeaveService(s *Service) {
	if n := len(t.Changes); n > 0 && s.urls != nil && t.Changes[n-1].Kind == "rewrite-url" {
		t.Changes[n-1].Last = s.urls.Last(t.Changes[n-1].Rule)
	}
	if s.Request != nil {
		t.added(s.Request)
	}
}

// added reports the lines that rules add. Strict-Transport-Security, the last one if the
// service sets it, belongs to no list.
func (t *Trail) added(r *Rules) {
	for i, line := range fieldLines(r.Add) {
		name, value, _ := strings.Cut(line, ": ")
		c := explain.Change{Kind: "add-header", Owner: ownerService, Rule: -1, Header: name, After: t.masked(name, []byte(value))}
		if i < len(r.adds) {
			c.Owner, c.Rule = r.adds[i].owner, r.adds[i].rule
		}
		t.change(c)
	}
}

// Answered reports the changes by a service's rules to a response head, up to the limit it
// shares with the request.
func (t *Trail) Answered(s *Service, r *http1.Response) error {
	told := Trail{Explanation: &explain.Explanation{Changes: t.Changes}, hidden: t.hidden}
	var o http1.ResponseOptions
	if rules := s.Response; rules != nil {
		told.owner, told.own, told.ownCuts = ownerService, rules.own, rules.ownCuts
		scratch := new(rewrite.Scratch)
		scratch.Observe(&told)
		if err := rules.Apply(&r.Head, scratch); err != nil {
			return err
		}
		told.added(rules)
		o.Extra = rules.Add
	}
	t.AnswerChanges, t.AnswerHead = told.Changes[len(t.Changes):], t.MaskedHead(http1.AppendResponse(nil, r, &o))
	return nil
}

// change records a change, up to the limit.
func (t *Trail) change(c explain.Change) {
	if len(t.Changes) < explain.MaxChanges {
		c.Header, c.Before, c.After = explain.Clip(c.Header), explain.Clip(c.Before), explain.Clip(c.After)
		t.Changes = append(t.Changes, c)
	}
}

// Removed implements rewrite.Observer.
func (t *Trail) Removed(h *http1.Head, i, rule int) {
	c := explain.Change{Kind: "remove-header", Owner: t.owner, Rule: rule, Header: string(h.Name(i))}
	if t.owner == ownerService && rule >= t.ownCuts {
		c.Owner, c.Rule = ownerFarm, rule-t.ownCuts
	}
	c.Before = t.masked(c.Header, h.Value(i))
	t.change(c)
}

// Replaced implements rewrite.Observer.
func (t *Trail) Replaced(h *http1.Head, i, rule int, before []byte) {
	c := explain.Change{Kind: "replace-header", Owner: ownerService, Rule: rule, Header: string(h.Name(i))}
	if rule >= t.own {
		c.Owner, c.Rule = ownerFarm, rule-t.own
	}
	c.Before, c.After = t.masked(c.Header, before), t.masked(c.Header, h.Value(i))
	t.change(c)
}

// rewritten reports a rule's change of the path.
func (t *Trail) rewritten(rule int, path []byte) {
	t.change(explain.Change{Kind: "rewrite-url", Owner: ownerService, Rule: rule, Before: string(t.path), After: string(path)})
	t.path = bytes.Clone(path)
}

// fieldLines splits a head, or lines added to one, into lines.
func fieldLines(b []byte) []string {
	return strings.FieldsFunc(string(b), func(c rune) bool { return c == '\r' || c == '\n' })
}

// mask replaces secret values.
const mask = "***"

// secrets holds the fields with credentials, in lower case.
var secrets = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range farm.DefaultRedact() {
		names[name] = true
	}
	return names
}()

// hidden returns the fields in which services expect keys, in lower case.
func (f *Farm) hidden() map[string]bool {
	names := map[string]bool{}
	for i := range f.Services {
		if p := f.Services[i].Auth; p != nil && p.Keys != nil {
			names[p.Header] = true
		}
	}
	return names
}

// masked returns a field value, masked if it is secret.
func (t *Trail) masked(name string, value []byte) string {
	if name = strings.ToLower(name); secrets[name] || t.hidden[name] {
		return mask
	}
	return string(value)
}

// MaskedHead splits a head into lines with secrets masked.
func (t *Trail) MaskedHead(head []byte) (lines []string) {
	for i, line := range fieldLines(head) {
		if name, value, ok := strings.Cut(line, ": "); ok && i > 0 {
			line = name + ": " + t.masked(name, []byte(value))
		}
		lines = append(lines, explain.Clip(line))
	}
	return lines
}
