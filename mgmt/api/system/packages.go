package system

import (
	"context"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/packages"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Packages reports the available system updates; *packages.System implements it.
type Packages interface {
	Updates(ctx context.Context) packages.Updates
}

func (s *Resource) packageOperations() []*rest.Operation {
	if s.deps.Packages == nil {
		return nil
	}
	return []*rest.Operation{rest.Op(rest.Get, "/system/packages", rbac.SystemMenu, "Get the available system updates", s.getPackages)}
}

// PackagesView lists the available updates.
type PackagesView struct {
	Message  string          `json:"message"`
	Checked  string          `json:"last_check" doc:"Time the package lists were fetched; empty if unknown"`
	Status   packages.Status `json:"status" enum:"Updated,Updates available,unknown"`
	Number   int             `json:"number" doc:"Number of packages to update"`
	Packages []PackageView   `json:"packages"`
}

// PackageView is one update.
type PackageView struct {
	Name     string `json:"name"`
	From     string `json:"from" doc:"Installed version; empty for a new package"`
	To       string `json:"to"`
	Security string `json:"security" enum:"true,false" doc:"true if it is a security update"`
}

// packagesTime bounds the search for updates.
const packagesTime = 40 * time.Second

func (s *Resource) getPackages(c *rest.Call) (rest.Object[PackagesView], error) {
	c.MayTake(packagesTime)
	u := s.deps.Packages.Updates(c.Context)
	out := PackagesView{Message: u.Message, Status: u.Status, Number: u.Number, Packages: []PackageView{}}
	if !u.Lists.IsZero() {
		out.Checked = u.Lists.UTC().Format(time.RFC3339)
	}
	for _, p := range u.Packages {
		out.Packages = append(out.Packages, PackageView{p.Name, p.From, p.To, rest.Truth(p.Security)})
	}
	return rest.Object[PackagesView]{Description: c.Summary(), Params: out}, nil
}
