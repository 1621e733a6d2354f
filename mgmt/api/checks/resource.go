// Package checks is the resource of health checks: what backends are asked, which
// farms and services have it asked, and what was found.
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
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Guardian asks backends; *guardian.Guardian does.
type Guardian interface {
	Look(backend uint32) (guardian.Finding, bool)
	Try(ctx context.Context, command string, to probe.Target, limit time.Duration) (guardian.Result, []string, error)
}

// Deps is what the resource stands on. Guardian and Passive may be nil: then nothing was
// found, and nothing can be tried.
type Deps struct {
	State    *state.Board
	Guardian Guardian
	// SameCommand reports whether two commands ask the same, however their passwords are
	// written.
	SameCommand func(a, b string) bool
	Health      farmstate.Health
	// Passive is what engines found of a backend in passing.
	Passive func(backend uint32) health.State
	// Lookup finds the addresses of a host name.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	Log    *slog.Logger
}

// Resource is health checks.
type Resource struct{ deps Deps }

// New returns the resource.
func New(deps Deps) *Resource { return &Resource{deps} }

const (
	all = "/monitoring/fg"
	one = all + "/{check}"
)

// Operations lists what it can do.
func (s *Resource) Operations() []*rest.Operation {
	out := []*rest.Operation{
		rest.Op(rest.Get, all, rbac.FarmguardianMenu, "List the health checks", s.list),
		rest.Op(rest.Post, all, rbac.FarmguardianModify, "Create a health check", s.create).Body(&validate.CheckCreate).Refers().Edits(),
		rest.Op(rest.Get, one, rbac.FarmguardianMenu, "Get a health check", s.get),
		rest.Op(rest.Put, one, rbac.FarmguardianModify, "Modify a health check", s.modify).Body(&validate.CheckUpdate).Edits(),
		rest.Op(rest.Delete, one, rbac.FarmguardianModify, "Delete a health check", s.remove).Edits(),
	}
	if s.deps.Guardian != nil {
		out = append(out, rest.Op(rest.Post, one+"/run", rbac.FarmguardianModify, "Try a health check on a server", s.try).Body(&validate.CheckTry).Asks().Audited())
	}
	for _, of := range []struct{ path, whose string }{{rest.FarmPath, "a farm without services"}, {rest.ServicePath, "a service"}} {
		out = append(out,
			rest.Op(rest.Post, of.path+"/fg", rbac.FarmModify, "Link a health check with "+of.whose, s.link).Body(&validate.CheckLink).Refers().Edits(),
			rest.Op(rest.Delete, of.path+"/fg/{check}", rbac.FarmModify, "Unlink a health check from "+of.whose, s.unlink).Edits(),
			rest.Op(rest.Get, of.path+"/backends/{backend}/check", rbac.Open, "Explain the health of a backend of "+of.whose, s.explain))
	}
	return out
}
