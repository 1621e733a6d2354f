// Package farms is the part of the API about farms: they themselves, their
// services, backends, rules and certificates, what can be done to them, and
// what would become of a request to one. What differs between profiles their
// descriptors say (profile.go).
package farms

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Deps is what the operations need. Explain and Kernel may be nil.
type Deps struct {
	State   *state.Board
	Applier Restarter
	Users   *rbac.Book
	// People is users, groups and roles as what has a revision: who makes a farm
	// changes them.
	People *rest.Document
	// Certificates knows those that farms may use.
	Certificates Certificates
	Engine       func() state.Engine
	Health       farmstate.Health
	Silent       func(backend uint32) string
	// Explain asks the engine about a request that was not sent; without it
	// there is nothing about that in the API.
	Explain Explainer
	Kernel  Rules
	// LocalAddrs lists the addresses of this machine, which a VIP must be one of.
	LocalAddrs func() []netip.Addr
	// DownInterface names the interface that has the address and is down, empty if none
	// is.
	DownInterface func(netip.Addr) string
	Log           *slog.Logger
}

// Restarter restarts a farm; *apply.Applier does.
type Restarter interface {
	Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error)
}

// Certificates finds a certificate by its name.
type Certificates interface {
	Get(name string) (certs.View, error)
}

// Rules is the packet filter rules of a farm as text, empty when it has none. Its
// errors are apply.ErrUnavailable while netd does not answer, state.ErrKernel, and
// others.
type Rules interface {
	Rules(ctx context.Context, farm uint32) (string, error)
}

// Resource answers the operations; make it with New.
type Resource struct {
	deps Deps
	list rest.Kept // of all farms
}

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps: deps} }

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.farmOperations(), s.serviceOperations(), s.zoneOperations(), s.keyOperations(), s.bulkOperations(), s.zoneFileOperations(), s.backendOperations(), s.ruleOperations(),
		s.farmCertificateOperations(), s.explainOperations())
}
