// Package findings implements the API resource of lint findings: configuration without
// effect, or soon to fail (mgmt/lint).
package findings

import (
	"context"
	"log/slog"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/farmstate"
	"github.com/sluicelb/sluice/mgmt/lint"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/resolve"
	"github.com/sluicelb/sluice/mgmt/timeseries"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Deps are the sources of evidence. ACME, Traffic, Since and Numbers may be nil, which
// leaves fewer findings.
type Deps struct {
	Certificates interface{ List() []certs.View }
	ACME         interface {
		Get(name string) (acme.View, error)
	}
	Counters interface {
		SumFarm(id uint32) stats.Farm
		SumBackend(id uint32) stats.Backend
	}
	// Traffic returns the kernel's counters of kernel farms.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	Health  farmstate.Health
	// Since returns the time of the last change of a backend's health.
	Since func(backend uint32) time.Time
	// Checked explains why the check of a backend fails or cannot run; nil: unknown.
	Checked func(backend uint32) string
	// Resolved reports the state of host names; nil: unknown.
	Resolved interface {
		Look(q resolve.Question) (resolve.State, bool)
	}
	// Numbers reads recorded statistics.
	Numbers interface {
		Read(object string, from, to, now time.Time, series ...string) (timeseries.Points, error)
	}
	// Rules find settings without effect.
	Rules validate.Rules
	Log   *slog.Logger
	Now   func() time.Time
}

// Resource implements the operations. Use New to make one.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations returns the operations of the resource.
func (s *Resource) Operations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/lint", rbac.Open, "List unused or soon-to-fail configuration", s.all),
		rest.Op(rest.Get, "/farms/{farm}/lint", rbac.Open, "List unused or soon-to-fail configuration of a farm", s.one),
	}
}

// all examines the farms the caller sees. It includes unused certificates if the caller may
// see them.
func (s *Resource) all(c *rest.Call) (rest.List[lint.Finding], error) {
	return s.look(c, c.Farms(), c.SeesAll() && c.By.May(rbac.CertificateShow))
}

func (s *Resource) one(c *rest.Call) (rest.List[lint.Finding], error) {
	f, err := c.Farm()
	if err != nil {
		return rest.List[lint.Finding]{}, err
	}
	return s.look(c, []farm.Farm{*f}, false)
}

func (s *Resource) look(c *rest.Call, farms []farm.Farm, allCertificates bool) (rest.List[lint.Finding], error) {
	cfg := &farm.Config{Farms: farms, Checks: c.Config.Checks}
	found := lint.Look(cfg, s.evidence(c, cfg, allCertificates))
	for i := range found { // a health check may name the farm at the address of a backend
		found[i].Message, found[i].Evidence = c.Discreet(found[i].Message), c.Discreet(found[i].Evidence)
	}
	return rest.NewList(c.Summary(), found), nil
}
