package validate

import (
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// leniencyFields select accepted HTTP/1 deviations of backends.
var leniencyFields = []field[farm.Service]{{
	rule: rule{name: "backend_leniency", hints: advanced(atResponses, "Accepted deviations"), kind: kindList, words: true, null: true, max: int64(len(farm.Leniencies())), maxLen: 32, check: checkLeniency,
		format: strings.Join(texts(farm.Leniencies()), "|"), must: "one of " + strings.Join(texts(farm.Leniencies()), ", "), musts: "a list of " + strings.Join(texts(farm.Leniencies()), ", "),
		about: "HTTP/1 deviations accepted in backend responses and corrected for clients; empty accepts none, all accepts all. Only unambiguous deviations are listed; the log names the deviation of a rejected response."},
	get: func(s *farm.Service) Value { return listValue(texts(s.Leniency)) },
	set: func(s *farm.Service, v Value) {
		s.Leniency = nil
		for _, item := range v.list {
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
