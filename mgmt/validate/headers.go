package validate

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// Limits of rules.
const (
	// MaxRules is the maximum length of a rule list.
	MaxRules = 128
	// MaxHeader is the maximum length of a header line or replacement, in bytes.
	MaxHeader = 4 << 10
)

// RuleList is one kind of ordered rule list of farms and services.
type RuleList[T comparable] struct {
	// Farm and Service are the names of the list at either level. Farm is "" if only
	// services have it. Documents use the same names.
	Farm, Service string
	// Rule holds the fields of one rule.
	Rule Table[T]
	// Moves marks lists whose order matters, so that rules can be moved.
	Moves     bool
	of        func(*farm.HeaderRules) *[]T
	ofService func(*farm.Service) *[]T
}

// OfFarm returns the list of a farm, nil if it cannot have one.
func (l *RuleList[T]) OfFarm(f *farm.Farm) *[]T {
	rules := f.Headers()
	if l.of == nil || rules == nil {
		return nil
	}
	return l.of(rules)
}

// OfService returns the list of a service.
func (l *RuleList[T]) OfService(s *farm.Service) *[]T { return l.ofService(s) }

// Kinds of rules.
var (
	AddRequest      = headerList("addheader", "addrequestheader", headerSets, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddRequest })
	RemoveRequest   = headerList("headremove", "removerequestheader", headerRemove, func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveRequest })
	ReplaceRequest  = headerList("replacerequestheader", "replacerequestheader", headerReplace, func(r *farm.HeaderRules) *[]farm.HeaderReplace { return &r.ReplaceRequest })
	AddResponse     = headerList("addresponseheader", "addresponseheader", headerAdd, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddResponse })
	RemoveResponse  = headerList("removeresponseheader", "removeresponseheader", headerRemove, func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveResponse })
	ReplaceResponse = headerList("replaceresponseheader", "replaceresponseheader", headerReplace, func(r *farm.HeaderRules) *[]farm.HeaderReplace { return &r.ReplaceResponse })
	Rewrites        = RuleList[farm.URLRewrite]{Service: "rewriteurl", Rule: urlRewrite, Moves: true,
		ofService: func(s *farm.Service) *[]farm.URLRewrite { return &s.Rewrites }}
)

func headerList[T comparable](atFarm, atService string, rule Table[T], of func(*farm.HeaderRules) *[]T) RuleList[T] {
	return RuleList[T]{Farm: atFarm, Service: atService, Rule: rule, Moves: atFarm == atService && strings.HasPrefix(atFarm, "replace"),
		of:        of,
		ofService: func(s *farm.Service) *[]T { return of(&s.HeaderRules) }}
}

// RuleMove is the body of POST …/<kind>/ID/actions; the caller moves the rule.
var RuleMove = move[struct{}]("New position of the rule, from 0.")

// headerLine and headerPattern are the rules of body fields and of list items in documents.
var (
	headerLine = rule{name: "header", hints: basic(atHeaders, "Header"), kind: kindText, required: true, format: "Name: value", maxLen: MaxHeader, check: checkHeaderLine, canon: canonHeaderLine, same: sameHeaderLine,
		must: `a header as "Name: value"`, musts: `a list of headers as "Name: value"`, about: "Header added to responses; the backend's header of the same name is kept."}
	headerSet     = asSet(headerLine)
	headerPattern = rule{name: "pattern", hints: basic(atHeaders, "Pattern"), kind: kindText, required: true, format: "regex", maxLen: MaxPattern, check: checkLinePattern,
		must: "a valid regular expression", musts: "a list of regular expressions", about: `Case-insensitive regex for the header lines ("Name: value") to remove.`}
)

// asSet returns the rule of a header that replaces the client's own.
func asSet(r rule) rule {
	r.about = "Header set in requests; replaces the client's header of that name, spelled with a hyphen or an underscore. A Cookie header is added to the client's."
	return r
}

var headerSets = Table[farm.HeaderAdd]{fields: []field[farm.HeaderAdd]{{rule: headerSet,
	get: func(h *farm.HeaderAdd) Value { return textValue(h.Header) },
	set: func(h *farm.HeaderAdd, v Value) { h.Header = v.text },
}}}

var headerAdd = Table[farm.HeaderAdd]{fields: []field[farm.HeaderAdd]{{rule: headerLine,
	get: func(h *farm.HeaderAdd) Value { return textValue(h.Header) },
	set: func(h *farm.HeaderAdd, v Value) { h.Header = v.text },
}}}

var headerRemove = Table[farm.HeaderRemove]{fields: []field[farm.HeaderRemove]{{rule: headerPattern,
	get: func(h *farm.HeaderRemove) Value { return textValue(h.Pattern) },
	set: func(h *farm.HeaderRemove, v Value) { h.Pattern = v.text },
}}}

var headerReplace = Table[farm.HeaderReplace]{fields: []field[farm.HeaderReplace]{
	{
		rule: rule{name: "header", hints: basic(atHeaders, "Header"), kind: kindText, required: true, format: "regex", maxLen: MaxPattern, check: checkNamePattern,
			must: "a valid regular expression", about: "Case-insensitive regex for the names of the headers to change."},
		get: func(h *farm.HeaderReplace) Value { return textValue(h.Header) },
		set: func(h *farm.HeaderReplace, v Value) { h.Header = v.text },
	},
	{
		rule: rule{name: "match", hints: basic(atHeaders, "Value"), kind: kindText, required: true, format: "regex", maxLen: MaxPattern, check: checkVeiled,
			must: "a valid regular expression", about: "Regex for the part of the value to replace."},
		get: func(h *farm.HeaderReplace) Value { return textValue(h.Match) },
		set: func(h *farm.HeaderReplace, v Value) { h.Match = v.text },
	},
	{
		rule: rule{name: "replace", hints: basic(atHeaders, "Replacement"), kind: kindText, required: true, blank: true, maxLen: MaxHeader, check: checkReplacement,
			must: "a text that fits in a header", about: "Replacement text; $1 to $9 refer to the groups of match."},
		get: func(h *farm.HeaderReplace) Value { return textValue(h.Replace) },
		set: func(h *farm.HeaderReplace, v Value) { h.Replace = v.text },
	},
}}

var urlRewrite = Table[farm.URLRewrite]{fields: []field[farm.URLRewrite]{
	{
		rule: rule{name: "pattern", hints: basic(atHeaders, "Pattern"), kind: kindText, required: true, format: "regex", maxLen: MaxPattern, check: checkVeiled,
			must: "a valid regular expression", about: "Regex for the part of path and query to replace."},
		get: func(u *farm.URLRewrite) Value { return textValue(u.Pattern) },
		set: func(u *farm.URLRewrite, v Value) { u.Pattern = v.text },
	},
	{
		rule: rule{name: "replace", hints: basic(atHeaders, "Replacement"), kind: kindText, required: true, blank: true, maxLen: MaxURL, check: checkTarget,
			must: "a text that fits in a URL", about: "Replacement text; $1 to $9 refer to the groups of pattern."},
		get: func(u *farm.URLRewrite) Value { return textValue(u.Replace) },
		set: func(u *farm.URLRewrite, v Value) { u.Replace = v.text },
	},
	{
		rule: rule{name: "last", hints: advanced(atHeaders, "Last rule"), kind: kindBool, about: "Skip the remaining rules after this one matches."},
		get:  func(u *farm.URLRewrite) Value { return boolValue(u.Last) },
		set:  func(u *farm.URLRewrite, v Value) { u.Last = v.truth },
	},
}}

// farmHeaders and serviceHeaders are the lists that documents write as plain texts.
var (
	farmHeaders = headerTexts(AddRequest.Farm, RemoveRequest.Farm,
		func(f *farm.Farm) *farm.HeaderRules { return &httpSeen(f).HeaderRules },
		func(f *farm.Farm) *farm.HeaderRules { return &httpOf(f).HeaderRules })
	serviceHeaders = headerTexts(AddRequest.Service, RemoveRequest.Service, ofService, ofService)
)

func ofService(s *farm.Service) *farm.HeaderRules { return &s.HeaderRules }

// headerTexts returns the fields for the rules of a T. seen returns them for reading, own
// for changing.
func headerTexts[T any](add, remove string, seen, own func(*T) *farm.HeaderRules) []field[T] {
	adds := func(name, label string, line rule, of func(*farm.HeaderRules) *[]farm.HeaderAdd) field[T] {
		return listed(name, label, line, func(t *T) *[]farm.HeaderAdd { return of(seen(t)) }, func(t *T) *[]farm.HeaderAdd { return of(own(t)) },
			func(h farm.HeaderAdd) string { return h.Header }, func(s string) farm.HeaderAdd { return farm.HeaderAdd{Header: s} })
	}
	removes := func(name, label string, of func(*farm.HeaderRules) *[]farm.HeaderRemove) field[T] {
		return listed(name, label, headerPattern, func(t *T) *[]farm.HeaderRemove { return of(seen(t)) }, func(t *T) *[]farm.HeaderRemove { return of(own(t)) },
			func(h farm.HeaderRemove) string { return h.Pattern }, func(s string) farm.HeaderRemove { return farm.HeaderRemove{Pattern: s} })
	}
	return []field[T]{
		adds(add, "Set in requests", headerSet, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddRequest }),
		removes(remove, "Removed from requests", func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveRequest }),
		adds(AddResponse.Farm, "Added to responses", headerLine, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddResponse }),
		removes(RemoveResponse.Farm, "Removed from responses", func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveResponse }),
	}
}

// listed returns the field of a list whose items are texts with the rule item.
func listed[T, H any](name, label string, item rule, seen, own func(*T) *[]H, text func(H) string, of func(string) H) field[T] {
	item.hints = advanced(atHeaders, label)
	item.name, item.kind, item.required, item.null, item.max = name, kindList, false, true, MaxRules
	return field[T]{
		rule: item,
		get: func(t *T) Value {
			var out []string
			for _, h := range *seen(t) {
				out = append(out, text(h))
			}
			return listValue(out)
		},
		set: func(t *T, v Value) {
			var out []H
			for _, s := range v.list {
				out = append(out, of(s))
			}
			*own(t) = out
		},
	}
}

// checkHeaderLine accepts a field line without line end (RFC 9110 §5.1, §5.5).
func checkHeaderLine(s string) string {
	name, value, found := strings.Cut(s, ":")
	switch {
	case !found:
		return "the colon is missing"
	case !tokenPattern.MatchString(name):
		return fmt.Sprintf("%s is no field name: letters, digits and !#$%%&'*+.^_`|~- right before the colon", show(name))
	}
	if problem := fixedReason(name); problem != "" {
		return problem
	}
	if problem := checkValue(value); problem != "" {
		return problem
	}
	return checkLiteral(value)
}

// checkReplacement accepts a value with references to groups.
func checkReplacement(s string) string {
	if problem := checkValue(s); problem != "" {
		return problem
	}
	return checkLiteral(s)
}

func checkValue(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return isControl(r) && r != '\t' }) {
		return "it holds a line feed or another control character"
	}
	return ""
}

func canonHeaderLine(s string) string {
	name, value, _ := strings.Cut(s, ":")
	return name + ": " + strings.Trim(value, " \t")
}

func sameHeaderLine(s string) string {
	name, value, _ := strings.Cut(s, ":")
	return strings.ToLower(name) + ":" + value
}

// checkTarget accepts the characters of a request target (RFC 9112 §3.2).
func checkTarget(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > 0x7e || r == '#' }) {
		return "it holds a blank, a #, a control character or one beyond ASCII"
	}
	if found := nginxVariable.FindString(s); found != "" {
		return found + " is not replaced: only $1 to $9, the groups of pattern, are"
	}
	return ""
}
