// Package people is the part of the API about who may use it: users, groups,
// roles, keys, and sessions of people.
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

// Deps is what the operations need.
type Deps struct {
	Users *rbac.Book
	// Document is users, groups and roles as what has a revision, see Document.
	Document *rest.Document
	Keys     Keys
	Guard    *auth.Guard
	// Directory and Provider are who else knows people; without one there is nothing
	// about it in the API.
	Directory Directory
	Provider  Provider
	// Developing reports whether a request comes from a page under development.
	Developing func(*http.Request) bool
	Version    string
	Log        *slog.Logger
	Now        func() time.Time
}

// Resource answers the operations; make it with New.
type Resource struct {
	deps Deps
	keys *rest.Document
}

// New returns the resource over deps.
func New(deps Deps) *Resource {
	return &Resource{deps: deps, keys: rest.NewDocument("the API keys", func() string { return keysThere(deps.Keys.Keys()) })}
}

// keysThere is the revision of the keys: none is ever changed, and no number comes
// twice.
func keysThere(keys []store.Key) string {
	var ids []uint64
	for _, k := range keys {
		ids = append(ids, k.ID)
	}
	return "keys-" + rest.Digest(ids)
}

// Document is users, groups and roles as what has one revision.
func Document(users *rbac.Book) *rest.Document {
	return rest.NewDocument("users, groups and roles", func() string { return "people-" + strconv.FormatUint(users.Revision(), 10) })
}

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(rest.About(s.keys, s.keyOperations()...), s.loginOperations(), s.oidcOperations(), s.openSessionOperations(), s.ldapOperations(),
		rest.About(s.deps.Document, slices.Concat(s.secondOperations(), s.serviceOperations(), s.userOperations(), s.groupOperations(), s.roleOperations())...))
}
