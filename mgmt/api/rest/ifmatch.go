package rest

import (
	"net/http"
	"slices"
	"strings"
)

// match is what a client expects of the revision of what it changes (RFC 9110, section
// 13.1.1): one of some tags, or just anything.
type match struct {
	any bool
	// tags are those that can be the one of a revision: weak ones never are, because
	// they are compared strongly.
	tags []string
}

// readMatch reads If-Match. A single tag may come without its quotes.
func readMatch(r *http.Request) (match, error) {
	text := strings.TrimSpace(strings.Join(r.Header.Values("If-Match"), ", "))
	if text == "" || text == "*" {
		return match{any: true}, nil
	}
	if !strings.ContainsAny(text, `", `) {
		return match{tags: []string{text}}, nil
	}
	var m match
	for rest := text; rest != ""; {
		weak := strings.HasPrefix(rest, "W/")
		tag, behind, is := cutTag(strings.TrimPrefix(rest, "W/"))
		if !is {
			return match{}, BadRequest("If-Match: %s is not a revision, allowed is the ETag of an answer, or several with commas between", Quote(text))
		}
		if !weak {
			m.tags = append(m.tags, tag)
		}
		rest = behind
	}
	return m, nil
}

// cutTag takes the first tag of a list, and the comma behind it.
func cutTag(text string) (tag, behind string, is bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	tag, behind, is = strings.Cut(text[1:], `"`)
	behind = strings.TrimLeft(behind, " \t")
	if !is || behind == "" {
		return tag, "", is
	}
	next := strings.TrimLeft(behind, ", \t") // a list may have blank elements (section 5.6.1)
	return tag, next, behind[0] == ','
}

// of reports whether the revision is what was expected.
func (m match) of(revision string) bool {
	return m.any || slices.Contains(m.tags, revision)
}
