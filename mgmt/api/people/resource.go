// Package people implements the API resources of access: users, groups, roles, keys and
// login sessions.
package people

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/store"
)

// Deps are the dependencies of the operations.
type Deps struct {
	Users *rbac.Book
	// Document is the document of users, groups and roles, see Document.
	Document *rest.Document
	Keys     Keys
	Guard    *auth.Guard
	// Directory and Provider are external user directories; nil disables their operations.
	Directory Directory
	Provider  Provider
	// Developing reports whether a request comes from a page under development.
	Developing func(*http.Request) bool
	Version    string
	Log        *slog.Logger
	Now        func() time.Time
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps Deps
	keys *rest.Document
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps: deps, keys: rest.NewDocument("the API keys", func() string { return keysThere(deps.Keys.Keys()) })}
}

// keysThere returns the revision of the keys. Keys are immutable and numbers unique, so the
// numbers suffice.
func keysThere(keys []store.Key) string {
	var ids []uint64
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return "keys-" + rest.Digest(ids)
}

// Document returns the document of users, groups and roles, which have one common revision.
func Document(users *rbac.Book) *rest.Document {
	return rest.NewDocument("users, groups and roles", func() string { return "people-" + strconv.FormatUint(users.Revision(), 10) })
}

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(rest.About(s.keys, s.keyOperations()...), s.loginOperations(), s.oidcOperations(), s.openSessionOperations(), s.ldapOperations(),
		rest.About(s.deps.Document, slices.Concat(s.secondOperations(), s.serviceOperations(), s.userOperations(), s.groupOperations(), s.roleOperations())...))
}
