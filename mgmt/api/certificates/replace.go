package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/coverage"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// losesNames describes the effect of force on certificates.
const losesNames = "replace the certificate even if services lose names that only the old one covered"

// fingerprint names the certificate that a change concerns.
const (
	fingerprint = "fingerprint"
	ofReplaced  = "Fingerprint of the certificate that you believe to be replaced; " +
		"if another one is in use, the request is rejected with 412"
)

// fileOf returns the name that farms use for an uploaded certificate. An invalid name is
// returned unchanged, so that Upload refuses it.
func fileOf(name string) string {
	if file, err := certs.CertificateName(name); err == nil {
		return file
	}
	return name
}

// renames previews the effect of changed host names on the users of a certificate. Unless
// forced, it refuses the change if a service loses a name. It relies on an earlier
// mayReplace, so it never names farms hidden from the caller.
func (s *Resource) renames(c *rest.Call, file string, after []string) error {
	before := s.deps.Certificates.NamesOf(file)
	p := rest.Preview{Diff: namesDiff(file, before, after)}
	for _, u := range coverage.Affected(c.Config, file, before, after, s.deps.Certificates.NamesOf) {
		p.Warnings = append(p.Warnings, "no certificate covers "+u.String()+" then: clients are warned or refuse to connect")
		p.NeedsForce = true
	}
	if lost := coverage.New(after...).Without(before); len(lost) > 0 && c.Config.System.API.Certificate == file {
		p.Warnings = append(p.Warnings, "the API and the GUI of the appliance use it, and browsers that reach them as "+strings.Join(lost, ", ")+" warn then")
		p.NeedsForce = true
	}
	return c.Shows(p, fmt.Sprintf("the certificate %s is in use, and the new one lacks names: %s", file, strings.Join(p.Warnings, "; ")))
}

// namesDiff returns the changed names as a diff, or "" if there are none.
func namesDiff(file string, before, after []string) string {
	lost, gained := coverage.New(after...).Without(before), coverage.New(before...).Without(after)
	if len(lost)+len(gained) == 0 {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "--- names of %s\n+++ names of %s\n", file, file)
	for _, name := range before {
		sign := " "
		if slices.Contains(lost, name) {
			sign = "-"
		}
		fmt.Fprintf(&out, "%s%s\n", sign, name)
	}
	for _, name := range gained {
		fmt.Fprintf(&out, "+%s\n", name)
	}
	return out.String()
}

// actionFields is the body of an action.
type actionFields struct{}

// Params lists the fields for OpenAPI.
func (actionFields) Params() []field.Param {
	return []field.Param{
		{Name: "action", PossibleValues: []string{"restore"}, Options: []string{"non_blank", "required"}, Description: "Action: restore reinstates the previously replaced certificate; the current one is kept for another restore."},
		rest.Optional(fingerprint, "Fingerprint of the certificate that you believe to be in use. If another one is, the request is rejected with 412."),
		rest.Optional("previous", "Fingerprint of the certificate that you expect to be restored. If another one would be, the request is rejected with 412."),
	}
}

// actOnCertificate restores the previous certificate.
func (s *Resource) actOnCertificate(c *rest.Call) (rest.Object[CertificateItem], error) {
	none := rest.Object[CertificateItem]{}
	file := c.Param("certificate")
	if err := mayReplace(c, certs.CertificateUsers, file); err != nil {
		return none, err
	}
	body, err := c.Texts(actionFields{})
	if err != nil {
		return none, err
	}
	if body["action"] != "restore" {
		return none, rest.BadRequest("action: %s is not allowed, allowed is restore", rest.Quote(body["action"]))
	}
	if _, err := c.Expected(); err != nil {
		return none, err
	}
	seen := certs.Seen{Current: body[fingerprint], Previous: body["previous"]}
	if now, err := s.deps.Certificates.Get(file); err == nil { // before names of another certificate are shown
		if err := seen.Check(now); err != nil {
			return none, Rejection(err)
		}
	}
	if after := s.deps.Certificates.PreviousNames(file); after != nil { // else Restore refuses it
		if err := s.renames(c, file, after); err != nil {
			return none, err
		}
	}
	v, err := s.deps.Certificates.Restore(c.Context, c.Author(), file, seen)
	if err != nil {
		return none, Rejection(err)
	}
	return rest.Object[CertificateItem]{Description: c.Summary(), Params: certificateItem(c, v), Message: fmt.Sprintf("The certificate that %s replaced is in use again.", file)}, nil
}
