// Package findings is the part of the API about what of a configuration is there
// for nothing, or will fail soon (mgmt/lint).
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

// Deps is where evidence comes from. ACME, Traffic, Since and Numbers may be nil: then
// less is known.
type Deps struct {
	Certificates interface{ List() []certs.View }
	ACME         interface {
		Get(name string) (acme.View, error)
	}
	Counters interface {
		SumFarm(id uint32) stats.Farm
		SumBackend(id uint32) stats.Backend
	}
	// Traffic tells what the kernel counted of the farms it carries.
	Traffic func(ctx context.Context) (stats.Traffic, error)
	Health  farmstate.Health
	// Since is when the health of a backend took its present value.
	Since func(backend uint32) time.Time
	// Checked says why the check of a backend fails, or cannot ask it; nil: not known.
	Checked func(backend uint32) string
	// Resolved tells what is known of host names; nil: nothing is.
	Resolved interface {
		Look(q resolve.Question) (resolve.State, bool)
	}
	// Numbers are what was written down over time.
	Numbers interface {
		Read(object string, from, to, now time.Time, series ...string) (timeseries.Points, error)
	}
	// Rules find settings without effect.
	Rules validate.Rules
	Log   *slog.Logger
	Now   func() time.Time
}

// Resource answers the operations; make it with New.
type Resource struct{ deps Deps }

// New returns the resource over deps.
func New(deps Deps) *Resource { return &Resource{deps} }

// Operations lists what can be done.
func (s *Resource) Operations() []*rest.Operation {
	return []*rest.Operation{
		rest.Op(rest.Get, "/lint", rbac.Open, "List what of the configuration is there for nothing, or will fail soon", s.all),
		rest.Op(rest.Get, "/farms/{farm}/lint", rbac.Open, "List what of a farm is there for nothing, or will fail soon", s.one),
	}
}

// all looks at the farms the caller sees, and at certificates of no farm if the caller
// may see these.
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
	return rest.NewList(c.Summary(), lint.Look(cfg, s.evidence(c, cfg, allCertificates))), nil
}
