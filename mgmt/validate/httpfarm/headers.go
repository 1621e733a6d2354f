package httpfarm

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/format"
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
	Rule field.Table[T]
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

func headerList[T comparable](atFarm, atService string, rule field.Table[T],
	of func(*farm.HeaderRules) *[]T) RuleList[T] {
	return RuleList[T]{Farm: atFarm, Service: atService, Rule: rule, Moves: atFarm == atService && strings.HasPrefix(atFarm, "replace"),
		of:        of,
		ofService: func(s *farm.Service) *[]T { return of(&s.HeaderRules) }}
}

// RuleMove is the body of POST …/<kind>/ID/actions; the caller moves the rule.
var RuleMove = move[struct{}]("New position of the rule, from 0.")

// headerLine and headerPattern are the rules of body fields and of list items in documents.
var (
	headerLine = field.Rule{Name: "header", Hints: field.Basic(field.AtHeaders, "Header"), Kind: field.Text, Required: true, Format: "Name: value", MaxLen: MaxHeader, Check: checkHeaderLine, Canon: canonHeaderLine, Key: sameHeaderLine,
		Must: `a header as "Name: value"`, MustList: `a list of headers as "Name: value"`, About: "Header added to responses; the backend's header of the same name is kept."}
	headerSet     = asSet(headerLine)
	headerPattern = field.Rule{Name: "pattern", Hints: field.Basic(field.AtHeaders, "Pattern"), Kind: field.Text, Required: true, Format: "regex", MaxLen: format.MaxPattern, Check: checkLinePattern,
		Must: "a valid regular expression", MustList: "a list of regular expressions", About: `Case-insensitive regex for the header lines ("Name: value") to remove.`}
)

// asSet returns the rule of a header that replaces the client's own.
func asSet(r field.Rule) field.Rule {
	r.About = "Header set in requests; replaces the client's header of that name, spelled with a hyphen or an underscore. A Cookie header is added to the client's."
	return r
}

var headerSets = field.Table[farm.HeaderAdd]{Fields: []field.Field[farm.HeaderAdd]{{Rule: headerSet,
	Get: func(h *farm.HeaderAdd) field.Value { return field.TextValue(h.Header) },
	Set: func(h *farm.HeaderAdd, v field.Value) { h.Header = v.Text() },
}}}

var headerAdd = field.Table[farm.HeaderAdd]{Fields: []field.Field[farm.HeaderAdd]{{Rule: headerLine,
	Get: func(h *farm.HeaderAdd) field.Value { return field.TextValue(h.Header) },
	Set: func(h *farm.HeaderAdd, v field.Value) { h.Header = v.Text() },
}}}

var headerRemove = field.Table[farm.HeaderRemove]{Fields: []field.Field[farm.HeaderRemove]{{Rule: headerPattern,
	Get: func(h *farm.HeaderRemove) field.Value { return field.TextValue(h.Pattern) },
	Set: func(h *farm.HeaderRemove, v field.Value) { h.Pattern = v.Text() },
}}}

var headerReplace = field.Table[farm.HeaderReplace]{Fields: []field.Field[farm.HeaderReplace]{
	{
		Rule: field.Rule{Name: "header", Hints: field.Basic(field.AtHeaders, "Header"), Kind: field.Text, Required: true, Format: "regex", MaxLen: format.MaxPattern, Check: checkNamePattern,
			Must: "a valid regular expression", About: "Case-insensitive regex for the names of the headers to change."},
		Get: func(h *farm.HeaderReplace) field.Value { return field.TextValue(h.Header) },
		Set: func(h *farm.HeaderReplace, v field.Value) { h.Header = v.Text() },
	},
	{
		Rule: field.Rule{Name: "match", Hints: field.Basic(field.AtHeaders, "Value"), Kind: field.Text, Required: true, Format: "regex", MaxLen: format.MaxPattern, Check: CheckVeiled,
			Must: "a valid regular expression", About: "Regex for the part of the value to replace."},
		Get: func(h *farm.HeaderReplace) field.Value { return field.TextValue(h.Match) },
		Set: func(h *farm.HeaderReplace, v field.Value) { h.Match = v.Text() },
	},
	{
		Rule: field.Rule{Name: "replace", Hints: field.Basic(field.AtHeaders, "Replacement"), Kind: field.Text, Required: true, Blank: true, MaxLen: MaxHeader, Check: checkReplacement,
			Must: "a text that fits in a header", About: "Replacement text; $1 to $9 refer to the groups of match."},
		Get: func(h *farm.HeaderReplace) field.Value { return field.TextValue(h.Replace) },
		Set: func(h *farm.HeaderReplace, v field.Value) { h.Replace = v.Text() },
	},
}}

var urlRewrite = field.Table[farm.URLRewrite]{Fields: []field.Field[farm.URLRewrite]{
	{
		Rule: field.Rule{Name: "pattern", Hints: field.Basic(field.AtHeaders, "Pattern"), Kind: field.Text, Required: true, Format: "regex", MaxLen: format.MaxPattern, Check: CheckVeiled,
			Must: "a valid regular expression", About: "Regex for the part of path and query to replace."},
		Get: func(u *farm.URLRewrite) field.Value { return field.TextValue(u.Pattern) },
		Set: func(u *farm.URLRewrite, v field.Value) { u.Pattern = v.Text() },
	},
	{
		Rule: field.Rule{Name: "replace", Hints: field.Basic(field.AtHeaders, "Replacement"), Kind: field.Text, Required: true, Blank: true, MaxLen: format.MaxURL, Check: checkTarget,
			Must: "a text that fits in a URL", About: "Replacement text; $1 to $9 refer to the groups of pattern."},
		Get: func(u *farm.URLRewrite) field.Value { return field.TextValue(u.Replace) },
		Set: func(u *farm.URLRewrite, v field.Value) { u.Replace = v.Text() },
	},
	{
		Rule: field.Rule{Name: "last", Hints: field.Advanced(field.AtHeaders, "Last rule"), Kind: field.Bool, About: "Skip the remaining rules after this one matches."},
		Get:  func(u *farm.URLRewrite) field.Value { return field.BoolValue(u.Last) },
		Set:  func(u *farm.URLRewrite, v field.Value) { u.Last = v.Bool() },
	},
}}

// farmHeaders and serviceHeaders are the lists that documents write as plain texts.
var (
	farmHeaders = headerTexts(AddRequest.Farm, RemoveRequest.Farm,
		func(f *farm.Farm) *farm.HeaderRules { return &read(f).HeaderRules },
		func(f *farm.Farm) *farm.HeaderRules { return &edit(f).HeaderRules })
	serviceHeaders = headerTexts(AddRequest.Service, RemoveRequest.Service, ofService, ofService)
)

func ofService(s *farm.Service) *farm.HeaderRules { return &s.HeaderRules }

// headerTexts returns the fields for the rules of a T. seen returns them for reading, own
// for changing.
func headerTexts[T any](add, remove string, seen, own func(*T) *farm.HeaderRules) []field.Field[T] {
	adds := func(name, label string, line field.Rule, of func(*farm.HeaderRules) *[]farm.HeaderAdd) field.Field[T] {
		return listed(name, label, line, func(t *T) *[]farm.HeaderAdd { return of(seen(t)) },
			func(t *T) *[]farm.HeaderAdd { return of(own(t)) },
			func(h farm.HeaderAdd) string { return h.Header }, func(s string) farm.HeaderAdd { return farm.HeaderAdd{Header: s} })
	}
	removes := func(name, label string, of func(*farm.HeaderRules) *[]farm.HeaderRemove) field.Field[T] {
		return listed(name, label, headerPattern, func(t *T) *[]farm.HeaderRemove { return of(seen(t)) },
			func(t *T) *[]farm.HeaderRemove { return of(own(t)) },
			func(h farm.HeaderRemove) string { return h.Pattern }, func(s string) farm.HeaderRemove { return farm.HeaderRemove{Pattern: s} })
	}
	return []field.Field[T]{
		adds(add, "Set in requests", headerSet, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddRequest }),
		removes(remove, "Removed from requests", func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveRequest }),
		adds(AddResponse.Farm, "Added to responses", headerLine, func(r *farm.HeaderRules) *[]farm.HeaderAdd { return &r.AddResponse }),
		removes(RemoveResponse.Farm, "Removed from responses", func(r *farm.HeaderRules) *[]farm.HeaderRemove { return &r.RemoveResponse }),
	}
}

// listed returns the field of a list whose items are texts with the rule item.
func listed[T, H any](name, label string, item field.Rule, seen, own func(*T) *[]H, text func(H) string,
	of func(string) H) field.Field[T] {
	item.Hints = field.Advanced(field.AtHeaders, label)
	item.Name, item.Kind, item.Required, item.Null, item.Max = name, field.List, false, true, MaxRules
	return field.Field[T]{
		Rule: item,
		Get: func(t *T) field.Value {
			var out []string
			for _, h := range *seen(t) {
				out = append(out, text(h))
			}
			return field.ListValue(out)
		},
		Set: func(t *T, v field.Value) {
			var out []H
			for _, s := range v.List() {
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
	case !format.Token.MatchString(name):
		return fmt.Sprintf("%s is no field name: letters, digits and !#$%%&'*+.^_`|~- right before the colon", field.Show(name))
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
	if strings.ContainsFunc(s, func(r rune) bool { return format.IsControl(r) && r != '\t' }) {
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
