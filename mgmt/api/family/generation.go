package family

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// Base is where operations are served for clients of the family.
const Base = "/zapi/v4.0/zapi.cgi"

// generation is one the API has had in the family. All are served by the newest,
// through this package where they differed.
type generation struct {
	name       string
	deprecated bool
	// inline: the health check is fields of the service, and no object of its own.
	inline bool
}

// base is where it was served; that of the newest for none.
func (g generation) base() string {
	if g.name == "" {
		return Base
	}
	return "/zapi/v" + g.name + "/zapi.cgi"
}

// generations lists them, oldest first (contract, "API versions"; api-reference
// §16.3, zapi_versions).
var generations = []generation{
	{"3", true, true}, {"3.0", true, true}, {"3.1", true, true}, {"3.2", true, false},
	{"4.0", false, false}, {"4.0.1", false, false}, {"4.0.2", false, false},
}

// Generations are their names, the newest last.
func Generations() (out []string) {
	for _, g := range generations {
		out = append(out, g.name)
	}
	return out
}

type generationKey struct{}

// older is the deprecated generation a request was sent to.
func older(ctx context.Context) (generation, bool) {
	g, is := ctx.Value(generationKey{}).(generation)
	return g, is
}

// newerBase is where the family serves the API since its latest change of name.
const newerBase = "/api/v4.0/api.cgi"

// Lead brings a request below another base of the family to Base, and says in the
// answer when that base is deprecated (RFC 9745). Its path must be canonical.
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

// below reports whether what follows a base is a path below it.
func below(rest string) bool { return rest == "" || rest[0] == '/' }

// session turns a call of generation 3 about a session into what it is now
// (api-reference §18): people logged in and out by paths of their own.
func session(method, path string) (string, string) {
	switch {
	case method == http.MethodGet && path == "/session/login":
		return http.MethodPost, "/session"
	case method == http.MethodGet && path == "/session/logout":
		return http.MethodDelete, "/session"
	}
	return method, path
}
