package httpfarm

import (
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// RulePath returns the Path of a rule in a list of the object at path, by position from 0.
func RulePath(path, list string, position int) string {
	return fmt.Sprintf("%s %s %d", path, list, position)
}

// checkFarmRules checks the rule lists of a farm that are not plain texts.
func checkFarmRules(path string, f *farm.Farm, yield func(field.Error) bool) bool {
	return checkReplaces(path, &ReplaceRequest, *ReplaceRequest.OfFarm(f), yield) &&
		checkReplaces(path, &ReplaceResponse, *ReplaceResponse.OfFarm(f), yield)
}

// checkServiceRules does so for a service.
func checkServiceRules(path string, s *farm.Service, yield func(field.Error) bool) bool {
	return checkReplaces(path, &ReplaceRequest, s.ReplaceRequest, yield) && checkReplaces(path, &ReplaceResponse,
		s.ReplaceResponse, yield) &&
		checkRules(path, Rewrites.Service, &Rewrites.Rule, s.Rewrites, yield, func(u *farm.URLRewrite) (string, string) {
			return u.Pattern, u.Replace
		})
}

func checkReplaces(path string, l *RuleList[farm.HeaderReplace], rules []farm.HeaderReplace,
	yield func(field.Error) bool) bool {
	return checkRules(path, l.Service, &l.Rule, rules, yield, func(h *farm.HeaderReplace) (string, string) {
		return h.Match, h.Replace
	})
}

// checkRules checks each rule of a list, uniqueness, the number of rules, and that
// replacements refer only to groups of their pattern.
func checkRules[T comparable](path, name string, table *field.Table[T], rules []T,
	yield func(field.Error) bool, parts func(*T) (pattern, replace string)) bool {
	if len(rules) > MaxRules && !yield(field.Error{Path: path, Field: name, Message: fmt.Sprintf("%s may have at most %d items, got %d", name, MaxRules, len(rules))}) {
		return false
	}
	seen := make(map[T]int, len(rules))
	for i := range rules {
		at := RulePath(path, name, i)
		if !table.Verify(at, &rules[i], nil, yield) {
			return false
		}
		if first, twice := seen[rules[i]]; twice && !yield(field.Error{Path: path, Field: name, Message: fmt.Sprintf("%s must not hold the same twice: item %d is item %d already", name, i, first)}) {
			return false
		}
		seen[rules[i]] = i
		pattern, replace := parts(&rules[i])
		groups, broken := compilePattern(unhidden(pattern))
		if broken != "" {
			continue // reported above
		}
		if problem := checkGroups(replace, groups); problem != "" && !yield(field.Error{Path: at, Field: "replace", Message: "replace: " + problem}) {
			return false
		}
	}
	return true
}
