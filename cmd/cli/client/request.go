package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Request is a call of the API. Body may be nil.
type Request struct {
	Method, Path string
	Query        url.Values
	Body         []byte
	Sources      []string      // files with the body, - for standard input; none if it was generated
	ContentType  string        // of the body; JSON when empty
	IfMatch      string        // the header of that name
	Timeout      time.Duration // for the response; 0 means Timeout
}

// Target returns the path and query of the request.
func (r Request) Target() string {
	if len(r.Query) == 0 {
		return base + r.Path
	}
	return base + r.Path + "?" + r.Query.Encode()
}

// Changes reports whether a request changes something. Read-only requests may have a body,
// too, and dry runs change nothing.
func (r Request) Changes() bool {
	return r.Method != http.MethodGet && !strings.HasSuffix(r.Path, "/explain") && r.Query.Get("dry_run") != "true"
}

// DryRun returns the request as a dry run.
func (r Request) DryRun() Request { return r.With("dry_run", "true") }

// With returns the request with an additional query parameter.
func (r Request) With(name, value string) Request {
	query := url.Values{}
	for other, values := range r.Query {
		query[other] = values
	}
	query.Set(name, value)
	r.Query = query
	return r
}

// Path joins names into a path. It refuses names that are invalid in the API, so that they
// cannot form another path. A zone may contain a slash, and the root zone is @.
func Path(parts ...string) (string, error) {
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
