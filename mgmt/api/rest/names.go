package rest

import (
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
)

// Moved is a request as it is sent now, whatever method and path it was sent with.
func Moved(r *http.Request, method, path string) *http.Request {
	if r.Method == method && r.URL.Path == path && r.URL.RawPath == "" {
		return r
	}
	out := r.Clone(r.Context())
	out.Method, out.URL.Path, out.URL.RawPath = method, path, "" // it is canonical: there is one reading of it
	return out
}

// Quote shows a field name of the client: whole when it is harmless and
// short, otherwise quoted and cut.
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

// HostOnly is a Host header without its port.
func HostOnly(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

// QuotePath shows a path of the client: cut, and quoted when it is odd.
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

// BareName is a name as it is compared.
func BareName(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
