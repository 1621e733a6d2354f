package family

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Base is the base path for clients of the family.
const Base = "/zapi/v4.0/zapi.cgi"

// generation is one version of the family's API. The newest serves all of them, and this
// package translates the differences.
type generation struct {
	name       string
	deprecated bool
	// inline: the health check is fields of the service, not an object.
	inline bool
}

// base returns the base path of the generation, or the newest one if g has no name.
func (g generation) base() string {
	if g.name == "" {
		return Base
	}
	return "/zapi/v" + g.name + "/zapi.cgi"
}

// generations lists the versions, oldest first (contract, "API versions"; api-reference
// §16.3, zapi_versions).
var generations = []generation{
	{"3", true, true}, {"3.0", true, true}, {"3.1", true, true}, {"3.2", true, false},
	{"4.0", false, false}, {"4.0.1", false, false}, {"4.0.2", false, false},
}

// Generations returns their names, oldest first.
func Generations() (out []string) {
	for _, g := range generations {
		out = append(out, g.name)
	}
	return out
}

type generationKey struct{}

// older returns the deprecated generation of a request.
func older(ctx context.Context) (generation, bool) {
	g, is := ctx.Value(generationKey{}).(generation)
	return g, is
}

// newerBase is the base path since the API's latest renaming.
const newerBase = "/api/v4.0/api.cgi"

// Lead maps a request from another base path of the family to Base. If that base path is
// deprecated, it says so in the response (RFC 9745). The path must be canonical.
func Lead(w http.ResponseWriter, r *http.Request) *http.Request {
	if path, is := strings.CutPrefix(r.URL.Path, newerBase); is && below(path) {
		return rest.Moved(r, r.Method, Base+path)
	}
	path, is := strings.CutPrefix(r.URL.Path, "/zapi/v")
	if !is {
		return r
	}
	name, path, is := strings.Cut(path, "/zapi.cgi")
	at := slices.IndexFunc(generations, func(g generation) bool { return g.name == name })
	if !is || at < 0 || !below(path) {
		return r
	}
	g := generations[at]
	if !g.deprecated {
		return rest.Moved(r, r.Method, Base+path)
	}
	w.Header().Set("Deprecation", "@1767225600") // since 2026
	w.Header().Set("Link", "<"+Base+path+`>; rel="successor-version"`)
	r = r.WithContext(context.WithValue(r.Context(), generationKey{}, g))
	method, path := session(r.Method, path)
	return rest.Moved(r, method, Base+path)
}

// below reports whether rest, the text after a base path, is empty or a subpath.
func below(rest string) bool { return rest == "" || rest[0] == '/' }

// session maps the session calls of generation 3, which had separate paths for login and
// logout (api-reference §18).
func session(method, path string) (string, string) {
	switch {
	case method == http.MethodGet && path == "/session/login":
		return http.MethodPost, "/session"
	case method == http.MethodGet && path == "/session/logout":
		return http.MethodDelete, "/session"
	}
	return method, path
}
