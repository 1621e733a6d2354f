package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// request is a request; body may be nil.
type request struct {
	method, path string
	query        url.Values
	body         []byte
	files        []string      // sources of the body, - for standard input; none if it was generated
	kind         string        // content type, JSON when empty
	match        string        // If-Match
	wait         time.Duration // for the response; 0 means timeout
}

// target returns the path and query of the request.
func (r request) target() string {
	if len(r.query) == 0 {
		return base + r.path
	}
	return base + r.path + "?" + r.query.Encode()
}

// changes reports whether a request changes something. Read-only requests may have a body,
// too, and dry runs change nothing.
func (r request) changes() bool {
	return r.method != http.MethodGet && !strings.HasSuffix(r.path, "/explain") && r.query.Get("dry_run") != "true"
}

// tried returns the request as a dry run.
func (r request) tried() request { return r.with("dry_run", "true") }

// with returns the request with an additional query parameter.
func (r request) with(name, value string) request {
	query := url.Values{}
	for other, values := range r.query {
		query[other] = values
	}
	query.Set(name, value)
	r.query = query
	return r
}

// pathOf joins names into a path. It refuses names that are invalid in the API, so that they
// cannot form another path. A zone may contain a slash, and the root zone is @.
func pathOf(parts ...string) (string, error) {
	var out strings.Builder
	for i, part := range parts {
		escaped := url.PathEscape(part)
		if part == "." && i > 0 && parts[i-1] == "zones" {
			part, escaped = "@", "@" // the root zone
		}
		whole := escaped == part || i > 0 && parts[i-1] == "zones" && strings.ReplaceAll(escaped, "%2F", "/") == part
		if part == "" || !whole || part == "." || part == ".." {
			return "", fmt.Errorf("%q is not a valid name", part)
		}
		out.WriteString("/" + escaped)
	}
	return out.String(), nil
}
