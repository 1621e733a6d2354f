// Package checks implements the API resource of health checks: their configuration, their
// farms and services, and their results.
package checks

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/api/state"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/guardian"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate/check"
)

// Guardian probes backends; *guardian.Guardian implements it.
type Guardian interface {
	Look(backend uint32) (guardian.Finding, bool)
	Try(ctx context.Context, command string, to probe.Target, limit time.Duration) (guardian.Result, []string, error)
}

// Deps are the dependencies of the resource. A nil Guardian disables trial runs; without
// Guardian or Passive, the corresponding results are missing.
type Deps struct {
	State    *state.Board
	Guardian Guardian
	// SameCommand reports whether two commands are equal except for the notation of
	// passwords.
	SameCommand func(a, b string) bool
	Health      farmstate.Health
	// Checked explains why the check of a backend fails or cannot run; nil: unknown.
	Checked func(backend uint32) string
	// Passive returns the engine's passive verdict on a backend.
	Passive func(backend uint32) health.State
	// Lookup resolves a host name.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Log    *slog.Logger
}

// Resource implements the operations of health checks.
type Resource struct{ deps Deps }

// New returns the resource.
func New(deps Deps) *Resource { return &Resource{deps} }

// Extend implements api.Extension: the response to a change of a check tells which backends
// it cannot probe.
func (s *Resource) Extend(host *rest.Host) {
	if s.deps.Guardian != nil {
		host.Unasked = Unasked(s.deps.Guardian, s.deps.Checked)
	}
}

const (
	all = "/monitoring/fg"
	one = all + "/{check}"
)

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	out := []*rest.Operation{
		rest.Op(rest.Get, all, rbac.FarmguardianMenu, "List the health checks", s.list),
		rest.Op(rest.Post, all, rbac.FarmguardianModify, "Create a health check", s.create).Body(&check.Create).Refers().Edits(),
		rest.Op(rest.Get, one, rbac.FarmguardianMenu, "Get a health check", s.get),
		rest.Op(rest.Put, one, rbac.FarmguardianModify, "Modify a health check", s.modify).Body(&check.Update).Edits(),
		rest.Op(rest.Delete, one, rbac.FarmguardianModify, "Delete a health check", s.remove).Edits(),
	}
	if s.deps.Guardian != nil {
		out = append(out, rest.Op(rest.Post, one+"/run", rbac.FarmguardianModify, "Test a health check against a server", s.try).Body(&check.Try).Asks().Audited())
	}
	for _, of := range []struct{ path, whose string }{{rest.FarmPath, "a farm without services"}, {rest.ServicePath, "a service"}} {
		out = append(out,
			rest.Op(rest.Post, of.path+"/fg", rbac.FarmModify, "Link a health check with "+of.whose, s.link).Body(&check.Link).Refers().Edits(),
			rest.Op(rest.Delete, of.path+"/fg/{check}", rbac.FarmModify, "Unlink a health check from "+of.whose, s.unlink).Edits(),
			rest.Op(rest.Get, of.path+"/backends/{backend}/check", rbac.Open, "Explain the health of a backend of "+of.whose, s.explain))
	}
	return out
}
