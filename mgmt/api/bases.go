package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
)

// generation is one the API has had in the family. All are served by the newest,
// through translate where they differed.
type generation struct {
	name       string
	deprecated bool
}

// apiGenerations lists them, oldest first (contract, "API versions"; api-reference
// §16.3, zapi_versions).
var apiGenerations = []generation{
	{"3", true}, {"3.0", true}, {"3.1", true}, {"3.2", true}, {"4.0", false}, {"4.0.1", false}, {"4.0.2", false},
}

// generations are their names, the newest last.
func generations() (out []string) {
	for _, g := range apiGenerations {
		out = append(out, g.name)
	}
	return out
}

// newerBase is where the family serves the API since its latest change of name.
const newerBase = Base + "/api.cgi"

// rebase leads a request below another base of the family to FamilyBase, and says in
// the answer when that base is deprecated (RFC 9745).
func rebase(w http.ResponseWriter, r *http.Request) *http.Request {
	if !canonical(r) {
		return r // refused further on
	}
	if path, is := strings.CutPrefix(r.URL.Path, newerBase); is && below(path) {
		return rest.Moved(r, r.Method, FamilyBase+path)
	}
	path, is := strings.CutPrefix(r.URL.Path, "/zapi/v")
	if !is {
		return r
	}
	name, path, is := strings.Cut(path, "/zapi.cgi")
	at := slices.IndexFunc(apiGenerations, func(g generation) bool { return g.name == name })
	if !is || at < 0 || !below(path) {
		return r
	}
	if !apiGenerations[at].deprecated {
		return rest.Moved(r, r.Method, FamilyBase+path)
	}
	w.Header().Set("Deprecation", "@1767225600") // since 2026
	w.Header().Set("Link", "<"+FamilyBase+path+`>; rel="successor-version"`)
	method, path := translate(r.Method, path)
	return rest.Moved(r, method, FamilyBase+path)
}

// below reports whether what follows a base is a path below it.
func below(rest string) bool { return rest == "" || rest[0] == '/' }

// translate turns a call of generation 3 into what it is now (api-reference §18):
// people logged in and out by paths of their own.
func translate(method, path string) (string, string) {
	switch {
	case method == http.MethodGet && path == people.SessionPath+"/login":
		return http.MethodPost, people.SessionPath
	case method == http.MethodGet && path == people.SessionPath+"/logout":
		return http.MethodDelete, people.SessionPath
	}
	return method, path
}
