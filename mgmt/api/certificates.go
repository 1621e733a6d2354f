package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// The content types of uploads, and of what is downloaded.
var (
	pemTypes = []string{"application/x-pem-file", "text/plain", "application/octet-stream"}
	crlTypes = []string{"application/x-pem-file", "application/pkix-crl", "text/plain", "application/octet-stream"}
)

const (
	downloadType = "application/x-download"
	textType     = "text/plain; charset=utf-8"
)

func (s *Server) certificateOperations() []*operation {
	const one = "/certificates/{certificate}"
	return []*operation{
		op(get, "/certificates", rbac.CertificateShow, "List certificates", s.listCertificates),
		op(post, "/certificates", rbac.CertificateCreate, "Create a CSR", s.createRequest).body(requestFields{}).created(),
		op(post, "/certificates/pem", rbac.CertificateUpload, "Upload a certificate from its parts", s.uploadParts).body(partFields{}).created(),
		op(get, "/certificates/ocsp", rbac.CertificateShow, "Get the settings of OCSP", s.getOCSP),
		op(put, "/certificates/ocsp", rbac.CertificateUpload, "Change the settings of OCSP", s.setOCSP).body(ocspFields{}),
		file(get, one, rbac.CertificateDownload, "Download a certificate without its key, or a CSR", downloadType, s.downloadCertificate),
		op(post, one, rbac.CertificateUpload, "Upload a certificate", s.uploadCertificate).takesFile(pemTypes).created().
			with("replace", "true to replace a certificate that has the name"),
		op(put, one, rbac.CertificateUpload, "Replace a certificate", s.replaceCertificate).takesFile(pemTypes),
		op(del, one, rbac.CertificateDelete, "Delete a certificate or a CSR", s.deleteCertificate),
		op(get, one+"/status", rbac.CertificateShow, "Get the state of a certificate", s.getCertificate),
		file(get, one+"/info", rbac.CertificateShow, "Describe a certificate or a CSR", textType, s.describeCertificate),
	}
}

// certRejection turns an error about certificates into a rejection.
func certRejection(err error) error {
	var wrong *certs.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong), errors.Is(err, certs.ErrExists), errors.Is(err, certs.ErrInUse):
		return badRequest("%s", err)
	case errors.Is(err, certs.ErrNotFound):
		return notFound("%s", err)
	case errors.Is(err, certs.ErrFull):
		return refuse(http.StatusConflict, "%s", err)
	}
	return rejectionOf(err, false)
}

func (s *Server) listCertificates(c *call) (List[CertificateItem], error) {
	var out []CertificateItem
	for _, v := range s.deps.Certificates.List() {
		out = append(out, c.certificateItem(v))
	}
	return list(c.op.summary, out), nil
}

func (s *Server) getCertificate(c *call) (Object[CertificateItem], error) {
	v, err := s.deps.Certificates.Get(c.param("certificate"))
	if err != nil {
		return Object[CertificateItem]{}, certRejection(err)
	}
	return Object[CertificateItem]{Description: "Get certificate " + v.Name, Params: c.certificateItem(v)}, nil
}

// noKeys is the answer to requests for private keys.
const noKeys = "private keys never leave the appliance: keep your own copy of those you upload; a certificate for a CSR made here needs no key when it is uploaded"

func (s *Server) downloadCertificate(c *call) ([]byte, error) {
	name := c.param("certificate")
	if strings.HasSuffix(name, ".key") {
		return nil, refuse(http.StatusForbidden, noKeys)
	}
	content, err := s.deps.Certificates.Download(name)
	if err != nil {
		return nil, certRejection(err)
	}
	c.saveAs(name)
	return content, nil
}

// saveAs makes the answer a download. Names that exist have no quotes.
func (c *call) saveAs(name string) { c.disposition = fmt.Sprintf("attachment; filename=%q", name) }

func (s *Server) describeCertificate(c *call) ([]byte, error) {
	text, err := s.deps.Certificates.Describe(c.param("certificate"))
	return text, certRejection(err)
}

func (s *Server) uploadCertificate(c *call) (Object[CertificateItem], error) {
	replace, err := c.flag("replace")
	if err != nil {
		return Object[CertificateItem]{}, err
	}
	if replace {
		return s.takeUpload(c, certs.Put)
	}
	return s.takeUpload(c, certs.Create)
}

func (s *Server) replaceCertificate(c *call) (Object[CertificateItem], error) {
	return s.takeUpload(c, certs.Replace)
}

func (s *Server) takeUpload(c *call, mode certs.Mode) (Object[CertificateItem], error) {
	raw, err := readBody(c.r, certs.MaxPEM, pemTypes)
	if err != nil {
		return Object[CertificateItem]{}, err
	}
	return s.upload(c, c.param("certificate"), raw, mode)
}

// upload hands an upload to the manager of certificates.
func (s *Server) upload(c *call, name string, raw []byte, mode certs.Mode) (Object[CertificateItem], error) {
	if _, err := c.expected(); err != nil {
		return Object[CertificateItem]{}, err
	}
	v, warnings, err := s.deps.Certificates.Upload(c.ctx, c.author(), name, raw, mode)
	if err != nil {
		return Object[CertificateItem]{}, certRejection(err)
	}
	return Object[CertificateItem]{
		Description: c.op.summary, Params: c.certificateItem(v), Warning: strings.Join(warnings, "; "),
		Message: fmt.Sprintf("The certificate %s has been uploaded.", v.Name),
	}, nil
}

// uploadParts takes a certificate whose parts are fields.
func (s *Server) uploadParts(c *call) (Object[CertificateItem], error) {
	body, err := c.texts(partFields{})
	if err != nil {
		return Object[CertificateItem]{}, err
	}
	raw := strings.Join([]string{body["key"], body["ca"], body["intermediates"]}, "\n")
	return s.upload(c, body["name"], []byte(raw), certs.Create)
}

func (s *Server) createRequest(c *call) (Object[NewRequest], error) {
	body, err := c.texts(requestFields{})
	if err != nil {
		return Object[NewRequest]{}, err
	}
	if _, err := c.expected(); err != nil {
		return Object[NewRequest]{}, err
	}
	v, err := s.deps.Certificates.Request(c.ctx, c.author(), body["name"], certs.RequestFields{
		FQDN: body["fqdn"], Country: body["country"], State: body["state"], Locality: body["locality"], Organization: body["organization"],
		Division: body["division"], Mail: body["mail"], Names: splitNames(body["san"]),
	})
	if err != nil {
		return Object[NewRequest]{}, certRejection(err)
	}
	csr, err := s.deps.Certificates.Download(v.Name)
	if err != nil {
		return Object[NewRequest]{}, certRejection(err)
	}
	return Object[NewRequest]{
		Description: c.op.summary, Params: NewRequest{CertificateItem: c.certificateItem(v), CSR: string(csr)},
		Message: fmt.Sprintf("The CSR %s has been created. Have it signed, then upload the certificate: its key is here.", v.Name),
	}, nil
}

func (s *Server) deleteCertificate(c *call) (Done, error) {
	if _, err := c.expected(); err != nil {
		return Done{}, err
	}
	name := c.param("certificate")
	if err := s.renews(name); err != nil {
		return Done{}, err
	}
	if err := s.deps.Certificates.Delete(c.ctx, c.author(), name); err != nil {
		return Done{}, certRejection(err)
	}
	return done(c.op.summary, fmt.Sprintf("The certificate %s has been deleted.", name)), nil
}

// OCSPSettings is the answer about OCSP.
type OCSPSettings struct {
	Enabled string `json:"enabled" enum:"true,false" doc:"Whether responses are fetched and stapled"`
	Private string `json:"private_responders" enum:"true,false" doc:"Whether responders may have private addresses"`
}

func ocspSettings(o certs.OCSPSettings) OCSPSettings {
	return OCSPSettings{Enabled: truth(o.Enabled), Private: truth(o.PrivateResponders)}
}

func (s *Server) getOCSP(c *call) (Object[OCSPSettings], error) {
	return Object[OCSPSettings]{Description: c.op.summary, Params: ocspSettings(s.deps.Certificates.OCSP())}, nil
}

func (s *Server) setOCSP(c *call) (Object[OCSPSettings], error) {
	body, err := c.object(ocspFields{})
	if err != nil {
		return Object[OCSPSettings]{}, err
	}
	settings := s.deps.Certificates.OCSP()
	for name, to := range map[string]*bool{"enabled": &settings.Enabled, "private_responders": &settings.PrivateResponders} {
		if err := setTruth(body, name, to); err != nil {
			return Object[OCSPSettings]{}, err
		}
	}
	if err := c.act(); err != nil {
		return Object[OCSPSettings]{}, err
	}
	if err := s.deps.Certificates.SetOCSP(c.author(), settings); err != nil {
		return Object[OCSPSettings]{}, err
	}
	return Object[OCSPSettings]{Description: c.op.summary, Params: ocspSettings(settings), Message: "The settings of OCSP have been changed."}, nil
}

// certificateItem is a certificate with those that use it.
func (c *call) certificateItem(v certs.View) CertificateItem {
	out := newCertificateItem(v)
	out.UsedBy = c.usedBy(certs.CertificateUsers, v.Name)
	return out
}

// ofOthers stands for farms the caller does not see.
const ofOthers = "farms of other groups"

// usedBy names the farms and services that use something, as far as the caller sees
// them.
func (c *call) usedBy(users func(cfg *farm.Config, name string) []string, name string) []string {
	all := users(c.cfg, name)
	if c.seesAll() {
		return all
	}
	seen := users(&farm.Config{Farms: c.farms()}, name)
	if len(seen) < len(all) {
		seen = append(seen, ofOthers)
	}
	return seen
}
