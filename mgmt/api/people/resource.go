// Package people is the part of the API about who may use it: users, groups,
// roles, keys, and sessions of people.
package people

import (
	"log/slog"
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/auth"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Deps is what the operations need.
type Deps struct {
	Users   *rbac.Book
	Keys    Keys
	Guard   *auth.Guard
	Version string
	Log     *slog.Logger
}

// Resource answers the operations; make it with New.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps: deps} }

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.keyOperations(), s.loginOperations(), s.userOperations(), s.groupOperations(), s.roleOperations())
}
