package rest

import (
	"net/http"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// A right to change a farm is none to what the farm names: a health check, whose command
// has passwords, and a certificate, whose key clients trust. Nor is a right to change
// checks one to start programs. permit looks at what a change
// names anew, however the change was made.

// permit implements apply.Permit for the caller.
func (c *Call) permit(before, after *farm.Config) error {
	if err := c.permitPrograms(before, after); err != nil {
		return err
	}
	if err := c.permitAccess(before, after); err != nil {
		return err
	}
	if c.By.Who.Root() {
		return nil
	}
	was := map[uint32]*farm.Farm{}
	for i := range before.Farms {
		was[before.Farms[i].ID] = &before.Farms[i]
	}
	delete(was, 0)
	for i := range after.Farms {
		f := &after.Farms[i]
		if old := was[f.ID]; old != f { // else it is shared: nothing of it changed
			if err := c.permitFarm(before, old, f); err != nil {
				return err
			}
		}
	}
	return c.permitSecrets(before, after)
}

// permitFarm looks at what a farm names that it did not; old is nil for a new one.
func (c *Call) permitFarm(before *farm.Config, old, f *farm.Farm) error {
	var checks []string
	if old != nil {
		checks = checksOf(old)
	}
	for _, name := range checksOf(f) {
		if name != "" && !slices.Contains(checks, name) && !c.MayUseCheck(before, name) {
			return noCheck(name)
		}
	}
	if err := c.permitNames(before, old, f); err != nil {
		return err
	}
	for name := range f.CertificateNames() {
		if old == nil || !old.HasCertificate(name) {
			if err := c.permitCertificate(before, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// permitNames looks at the gslb farms that services answer for: one that the caller does
// not see is none.
func (c *Call) permitNames(before *farm.Config, old, f *farm.Farm) error {
	services := f.Services()
	for i := range services {
		name := services[i].DNSFarm
		has := func(s farm.Service) bool { return s.DNSFarm == name }
		if name == "" || old != nil && slices.ContainsFunc(old.Services(), has) {
			continue
		}
		if names := before.Farm(name); names != nil && !c.mayFarm(names.ID) {
			return validate.NoNames(f.Name, services[i].Name, name)
		}
	}
	return nil
}

func checksOf(f *farm.Farm) (out []string) {
	for _, g := range f.Groups() {
		out = append(out, g.CheckedBy())
	}
	return out
}

// MayUseCheck reports whether the caller may use a health check and see all of it: there
// is no farm with it that the caller does not see. Of a template there is nothing to hide.
func (c *Call) MayUseCheck(cfg *farm.Config, name string) bool {
	if _, template := validate.CheckTemplate(name); template || name == "" {
		return true
	}
	return !slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return !c.mayFarm(g.Farm.ID) })
}

// SeesCheck reports whether the caller may know of a health check: nobody uses it, or a
// farm does that the caller sees.
func (c *Call) SeesCheck(cfg *farm.Config, name string) bool {
	if c.MayUseCheck(cfg, name) {
		return true
	}
	return slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return c.mayFarm(g.Farm.ID) })
}

// ListsCheck reports whether the caller finds a health check in lists of names: it is a
// template, a farm has it that the caller sees, or the caller may list checks.
func (c *Call) ListsCheck(cfg *farm.Config, name string) bool {
	if _, template := validate.CheckTemplate(name); template || c.By.Who.May(rbac.FarmguardianMenu) && c.MayUseCheck(cfg, name) {
		return true
	}
	return slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return c.mayFarm(g.Farm.ID) })
}

// noCheck refuses to use a check.
func noCheck(name string) *Rejection {
	return Refuse(http.StatusForbidden, "you may not use the health check %s: farms use it that your group does not see", Quote(name))
}

// UseCheck refuses a health check that the caller may not use.
func (c *Call) UseCheck(name string) error {
	if c.MayUseCheck(c.Config, name) {
		return nil
	}
	return noCheck(name)
}

// certificateRights are the permissions for certificates that let people do more than look.
var certificateRights = []rbac.Permission{rbac.CertificateCreate, rbac.CertificateUpload, rbac.CertificateDownload}

// SeesCertificate reports whether the caller may know of a certificate: by a permission for
// certificates, or because a farm has it that the caller sees.
func (c *Call) SeesCertificate(cfg *farm.Config, name string) bool {
	return c.By.Who.May(rbac.CertificateShow) || c.MayUseCertificate(cfg, name)
}

// MayUseCertificate reports whether the caller may have a farm serve a certificate.
func (c *Call) MayUseCertificate(cfg *farm.Config, name string) bool {
	if name == farm.ApplianceCertificate || slices.ContainsFunc(certificateRights, c.By.Who.May) {
		return true
	}
	return slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return c.mayFarm(f.ID) && f.HasCertificate(name) })
}

// UseCertificate refuses a certificate that the caller may not assign to a farm.
func (c *Call) UseCertificate(name string) error { return c.permitCertificate(c.Config, name) }

func (c *Call) permitCertificate(cfg *farm.Config, name string) error {
	if c.MayUseCertificate(cfg, name) {
		return nil
	}
	return Refuse(http.StatusForbidden, "you may not use the certificate %s: it needs one of the permissions %q, %q and %q, or a farm of your group that has it already",
		Quote(name), certificateRights[0], certificateRights[1], certificateRights[2])
}

// permitSecrets refuses commands with a sealed password of a check that the caller may not
// use: whoever names a sealed password has it sent to a server of their choice.
func (c *Call) permitSecrets(before, after *farm.Config) error {
	for i := range after.Checks {
		check := &after.Checks[i]
		old := farm.CheckAt(before.Checks, check.Name)
		if old >= 0 && before.Checks[old].Command == check.Command {
			continue
		}
		for _, secret := range sealedIn(check.Command) {
			for k := range before.Checks {
				of := &before.Checks[k]
				if slices.Contains(sealedIn(of.Command), secret) && !c.MayUseCheck(before, of.Name) {
					return noCheck(check.Name)
				}
			}
		}
	}
	return nil
}

// sealedIn lists the sealed passwords of a command.
func sealedIn(command string) (out []farm.Secret) {
	_, _ = probe.Sealed(command, func(_, secret string) (string, error) {
		if _, is := farm.Secret(secret).Sealed(); is {
			out = append(out, farm.Secret(secret))
		}
		return secret, nil
	})
	return out
}
