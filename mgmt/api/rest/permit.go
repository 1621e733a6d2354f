package rest

import (
	"net/http"
	"slices"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/rbac"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// The right to change a farm does not cover the objects that it refers to: a health check,
// whose command has passwords, or a certificate, whose key clients trust. Nor does the
// right to change checks cover starting programs. permit therefore examines every new
// reference, however the change is made.

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
		if old := was[f.ID]; old != f { // otherwise shared, and thus unchanged
			if err := c.permitFarm(before, old, f); err != nil {
				return err
			}
		}
	}
	return c.permitSecrets(before, after)
}

// permitFarm checks the new references of a farm; old is nil for a new farm.
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
	if err := c.permitLog(before, old, f); err != nil {
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

// permitNames checks the gslb farms that services forward DNS queries to. A farm hidden
// from the caller counts as missing.
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

// permitLog rejects the log file of a farm hidden from the caller, who could otherwise add
// lines to it and change its size.
func (c *Call) permitLog(before *farm.Config, old, f *farm.Farm) error {
	name := logFile(f)
	if old != nil && logFile(old) == name {
		return nil
	}
	for i := range before.Farms {
		if other := &before.Farms[i]; logFile(other) == name && !c.mayFarm(other.ID) {
			return &field.Error{Path: profile.FarmPath(f.Name), Field: "log_file", Message: "log_file must not be that of a farm of another group, got " + Quote(name)}
		}
	}
	return nil
}

// logFile returns the name of the log file of a farm, whether it is in use or not.
func logFile(f *farm.Farm) string {
	if l, _ := f.Log(); l != nil && l.File != "" {
		return l.File
	}
	return f.Name
}

func checksOf(f *farm.Farm) (out []string) {
	for _, g := range f.Groups() {
		out = append(out, g.CheckedBy())
	}
	return out
}

// MayUseCheck reports whether the caller may use a health check and see all of it, i.e.
// sees all farms that use it. Templates hold no secrets.
func (c *Call) MayUseCheck(cfg *farm.Config, name string) bool {
	if _, template := check.Template(name); template || name == "" {
		return true
	}
	return !slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return !c.mayFarm(g.Farm.ID) })
}

// SeesCheck reports whether a health check is visible to the caller: it is unused, or used by
// a farm that the caller sees.
func (c *Call) SeesCheck(cfg *farm.Config, name string) bool {
	if c.MayUseCheck(cfg, name) {
		return true
	}
	return slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return c.mayFarm(g.Farm.ID) })
}

// ListsCheck reports whether lists of names show a health check to the caller. It must be a
// template or used by a farm that the caller sees, or the caller may list checks and use
// this one.
func (c *Call) ListsCheck(cfg *farm.Config, name string) bool {
	if _, template := check.Template(name); template || c.By.Who.May(rbac.FarmguardianMenu) && c.MayUseCheck(cfg, name) {
		return true
	}
	return slices.ContainsFunc(cfg.CheckUsers(name), func(g farm.Group) bool { return c.mayFarm(g.Farm.ID) })
}

// noCheck returns the rejection of a check.
func noCheck(name string) *Rejection {
	return Refuse(http.StatusForbidden, "you may not use the health check %s: farms use it that your group does not see", Quote(name))
}

// UseCheck rejects a health check that the caller may not use.
func (c *Call) UseCheck(name string) error {
	return c.Require(func() error {
		if c.MayUseCheck(c.Config, name) {
			return nil
		}
		return noCheck(name)
	})
}

// certificateRights are the permissions for certificates beyond viewing.
var certificateRights = []rbac.Permission{rbac.CertificateCreate, rbac.CertificateUpload, rbac.CertificateDownload}

// SeesCertificate reports whether a certificate is visible to the caller, by permission or
// because a farm that the caller sees has it.
func (c *Call) SeesCertificate(cfg *farm.Config, name string) bool {
	return c.By.Who.May(rbac.CertificateShow) || c.MayUseCertificate(cfg, name)
}

// MayUseCertificate reports whether the caller may assign a certificate to a farm.
func (c *Call) MayUseCertificate(cfg *farm.Config, name string) bool {
	if name == farm.ApplianceCertificate || slices.ContainsFunc(certificateRights, c.By.Who.May) {
		return true
	}
	return slices.ContainsFunc(cfg.Farms, func(f farm.Farm) bool { return c.mayFarm(f.ID) && f.HasCertificate(name) })
}

// UseCertificate rejects a certificate that the caller may not assign to a farm.
func (c *Call) UseCertificate(name string) error {
	return c.Require(func() error { return c.permitCertificate(c.Config, name) })
}

func (c *Call) permitCertificate(cfg *farm.Config, name string) error {
	if c.MayUseCertificate(cfg, name) {
		return nil
	}
	return Refuse(http.StatusForbidden, "you may not use the certificate %s: it needs one of the permissions %q, %q and %q, or a farm of your group that has it already",
		Quote(name), certificateRights[0], certificateRights[1], certificateRights[2])
}

// permitSecrets rejects commands with a sealed password from a check that the caller may
// not use. Otherwise the caller could have the password sent to any server.
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
