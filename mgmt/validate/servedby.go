package validate

import (
	"strings"

	"github.com/sluicelb/sluice/core/farm"
)

// servedByFields is what answers tell of the backend they came from.
var servedByFields = []field[farm.Service]{{
	rule: rule{name: "served_by", hints: advanced(atResponses, "Backend header"), kind: kindText, blank: true, null: true, maxLen: 64, check: checkServedBy, format: "name of a header",
		must:  "the name of a header (letters, digits and !#$%&'*+.^_`|~-)",
		about: "Response header that names the backend by its alias or address, for debugging; empty for none. It tells clients about your network."},
	get: func(s *farm.Service) Value { return textValue(s.ServedBy) },
	set: func(s *farm.Service, v Value) { s.ServedBy = v.text },
}}

// meaningful are fields by which an answer says what it is: a backend's name
// in one of them would break it.
var meaningful = strings.Fields(`Accept-Ranges Age Alt-Svc Cache-Control Date ETag Expires Last-Modified Link Location Retry-After Set-Cookie
	Strict-Transport-Security Vary WWW-Authenticate X-Request-Id`)

func checkServedBy(s string) string {
	if problem := checkToken(s); problem != "" {
		return problem
	}
	if problem := fixedReason(s); problem != "" {
		return problem
	}
	if len(s) >= 8 && strings.EqualFold(s[:8], "Content-") {
		return "answers need what Content- fields say"
	}
	for _, name := range meaningful {
		if strings.EqualFold(s, name) {
			return "answers need what " + name + " says"
		}
	}
	return ""
}
