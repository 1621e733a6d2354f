package rest

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// Moved returns a copy of the request with another method and path.
func Moved(r *http.Request, method, path string) *http.Request {
	if r.Method == method && r.URL.Path == path && r.URL.RawPath == "" {
		return r
	}
	out := r.Clone(r.Context())
	out.Method, out.URL.Path, out.URL.RawPath = method, path, "" // the path is canonical, so it has only one reading
	return out
}

// Quote shows a field name from the client. It is quoted and truncated if it is long or has
// special characters.
func Quote(name string) string {
	const limit = 64
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "…"
	}
	if q := fmt.Sprintf("%q", name); q != `"`+name+`"` || name == "" {
		return q
	}
	return name
}

var hostForm = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\.?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// ValidHost reports whether a Host header is a name or an address.
func ValidHost(host string) bool { return len(host) <= 262 && hostForm.MatchString(host) }

// HostOnly returns a Host header without its port.
func HostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// QuotePath shows a path from the client, truncated, and quoted if it has special
// characters.
func QuotePath(path string) string {
	const limit = 200
	if len(path) > limit {
		path = strings.ToValidUTF8(path[:limit], "") + "…"
	}
	if q := fmt.Sprintf("%q", path); q != `"`+path+`"` {
		return q
	}
	return path
}

// BareName normalises a name for comparison.
func BareName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
