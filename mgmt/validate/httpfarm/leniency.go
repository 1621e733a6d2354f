package httpfarm

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// leniencyFields select accepted HTTP/1 deviations of backends.
var leniencyFields = []field.Field[farm.Service]{{
	Rule: field.Rule{Name: "backend_leniency", Hints: field.Advanced(field.AtResponses, "Accepted deviations"), Kind: field.List, Words: true, Null: true, Max: int64(len(farm.Leniencies())), MaxLen: 32, Check: checkLeniency,
		Format: strings.Join(field.Texts(farm.Leniencies()), "|"), Must: "one of " + strings.Join(field.Texts(farm.Leniencies()), ", "), MustList: "a list of " + strings.Join(field.Texts(farm.Leniencies()), ", "),
		About: "HTTP/1 deviations accepted in backend responses and corrected for clients; empty accepts none, all accepts all. Only unambiguous deviations are listed; the log names the deviation of a rejected response."},
	Get: func(s *farm.Service) field.Value { return field.ListValue(field.Texts(s.Leniency)) },
	Set: func(s *farm.Service, v field.Value) {
		s.Leniency = nil
		for _, item := range v.List() {
			s.Leniency = append(s.Leniency, farm.Leniency(item))
		}
	},
}}

func checkLeniency(s string) string {
	if slices.Contains(farm.Leniencies(), farm.Leniency(s)) {
		return ""
	}
	return "it is none of them"
}
