// Package farms implements the API resource of farms: farms, services, backends, rules,
// certificates and actions, and explanations of hypothetical requests. The differences
// between profiles are in their descriptors (profile.go).
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
)

// Deps are the dependencies of the operations. Explain and Kernel may be nil.
type Deps struct {
	State   *state.Board
	Applier Restarter
	// Certificates knows the certificates that farms may use.
	Certificates Certificates
	Engine       func() state.Engine
	Health       farmstate.Health
	// Explain queries the engine about a hypothetical request; nil disables the operations.
	Explain Explainer
	Kernel  Rules
	// LocalAddrs lists the addresses of this machine. A VIP must be one of them.
	LocalAddrs func() []netip.Addr
	// DownInterface names the interface that has the address and is down, or returns "".
	DownInterface func(netip.Addr) string
	Log           *slog.Logger
}

// Restarter restarts a farm; *apply.Applier implements it.
type Restarter interface {
	Restart(ctx context.Context, by apply.Author, name string) (apply.Result, error)
}

// Certificates finds a certificate by its name.
type Certificates interface {
	Get(name string) (certs.View, error)
}

// Rules returns the packet filter rules of a farm as text, or "" if it has none. It returns
// apply.ErrUnavailable if netd does not respond, state.ErrKernel, and other errors.
type Rules interface {
	Rules(ctx context.Context, farm uint32) (string, error)
}

// Resource implements the operations. Use New to make one.
type Resource struct {
	deps Deps
	list rest.Kept // of all farms
}

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps: deps} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return slices.Concat(s.farmOperations(), s.serviceOperations(), s.zoneOperations(), s.keyOperations(), s.bulkOperations(), s.zoneFileOperations(), s.backendOperations(), s.ruleOperations(),
		s.farmCertificateOperations(), s.explainOperations())
}
