package certificates

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Content types of uploads and downloads.
var (
	pemTypes = []string{"application/x-pem-file", "text/plain", "application/octet-stream", "application/x-pkcs12", "application/pkcs12", "application/pkix-cert", "application/x-x509-ca-cert"}
	crlTypes = []string{"application/x-pem-file", "application/pkix-crl", "text/plain", "application/octet-stream"}
)

const textType = "text/plain; charset=utf-8"

func (s *Resource) certificateOperations() []*rest.Operation {
	const one = "/certificates/{certificate}"
	return []*rest.Operation{
		rest.Op(rest.Get, "/certificates", rbac.CertificateShow, "List certificates", s.listCertificates),
		rest.Op(rest.Post, "/certificates", rbac.CertificateCreate, "Create a CSR", s.createRequest).Body(requestFields{}).Created(),
		rest.Op(rest.Post, "/certificates/pem", rbac.CertificateUpload, "Upload a certificate from its parts", s.uploadParts).Body(partFields{}).Created(),
		rest.Op(rest.Post, "/certificates/pkcs12", rbac.CertificateUpload, "Upload a certificate as PKCS #12", s.uploadPKCS12).Body(pkcs12Fields{}).Created().ForcedIf(losesNames).With(fingerprint, ofReplaced),
		rest.Op(rest.Get, "/certificates/ocsp", rbac.CertificateShow, "Get the settings of OCSP", s.getOCSP).Of(s.ocsp),
		rest.Op(rest.Put, "/certificates/ocsp", rbac.CertificateUpload, "Change the settings of OCSP", s.setOCSP).Body(ocspFields{}).Of(s.ocsp).OfAll(),
		rest.File(rest.Get, one, rbac.CertificateDownload, "Download a certificate without its key, or a CSR", rest.DownloadType, s.downloadCertificate),
		rest.Op(rest.Post, one, rbac.CertificateUpload, "Upload a certificate", s.uploadCertificate).TakesFile(pemTypes).Created().
			With("replace", "true to replace an existing certificate of that name").ForcedIf(losesNames).With(fingerprint, ofReplaced),
		rest.Op(rest.Put, one, rbac.CertificateUpload, "Replace a certificate", s.replaceCertificate).TakesFile(pemTypes).ForcedIf(losesNames).With(fingerprint, ofReplaced),
		rest.Op(rest.Post, one+"/actions", rbac.CertificateUpload, "Restore the previously replaced certificate", s.actOnCertificate).Body(actionFields{}).ForcedIf(losesNames),
		rest.Op(rest.Delete, one, rbac.CertificateDelete, "Delete a certificate or a CSR", s.deleteCertificate),
		rest.Op(rest.Get, one+"/status", rbac.CertificateShow, "Get the state of a certificate", s.getCertificate),
		rest.File(rest.Get, one+"/info", rbac.CertificateShow, "Describe a certificate or a CSR", textType, s.describeCertificate),
	}
}

// Rejection converts an error about certificates into a rejection.
func Rejection(err error) error {
	var wrong *certs.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Password:
		return rest.BadRequest("%s: send the file and its password with POST /certificates/pkcs12", err)
	case errors.As(err, &wrong), errors.Is(err, certs.ErrExists), errors.Is(err, certs.ErrInUse):
		return rest.BadRequest("%s", err)
	case errors.Is(err, certs.ErrNotFound):
		return rest.NotFound("%s", err)
	case errors.Is(err, certs.ErrReplaced):
		return rest.Refuse(http.StatusPreconditionFailed, "%s", err)
	case errors.Is(err, certs.ErrFull):
		return rest.Refuse(http.StatusConflict, "%s", err)
	}
	return rest.RejectionOf(err, false)
}

func (s *Resource) listCertificates(c *rest.Call) (rest.List[CertificateItem], error) {
	var out []CertificateItem
	for _, v := range s.deps.Certificates.List() {
		out = append(out, certificateItem(c, v))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getCertificate(c *rest.Call) (rest.Object[CertificateItem], error) {
	v, err := s.deps.Certificates.Get(c.Param("certificate"))
	if err != nil {
		return rest.Object[CertificateItem]{}, Rejection(err)
	}
	return rest.Object[CertificateItem]{Description: "Get certificate " + v.Name, Params: certificateItem(c, v)}, nil
}

// noKeys is the refusal of requests for private keys.
const noKeys = "private keys never leave the appliance: keep your own copy of those you upload; a certificate for a CSR made here needs no key when it is uploaded"

func (s *Resource) downloadCertificate(c *rest.Call) ([]byte, error) {
	name := c.Param("certificate")
	if strings.HasSuffix(name, ".key") {
		return nil, rest.Refuse(http.StatusForbidden, noKeys)
	}
	content, err := s.deps.Certificates.Download(name)
	if err != nil {
		return nil, Rejection(err)
	}
	c.SaveAs(name)
	return content, nil
}

func (s *Resource) describeCertificate(c *rest.Call) ([]byte, error) {
	text, err := s.deps.Certificates.Describe(c.Param("certificate"))
	return text, Rejection(err)
}

func (s *Resource) uploadCertificate(c *rest.Call) (rest.Object[CertificateItem], error) {
	replace, err := c.Flag("replace")
	if err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	if replace {
		return s.takeUpload(c, certs.Put)
	}
	return s.takeUpload(c, certs.Create)
}

func (s *Resource) replaceCertificate(c *rest.Call) (rest.Object[CertificateItem], error) {
	return s.takeUpload(c, certs.Replace)
}

func (s *Resource) takeUpload(c *rest.Call, mode certs.Mode) (rest.Object[CertificateItem], error) {
	raw, err := rest.ReadBody(c.Request, certs.MaxPEM, pemTypes)
	if err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	return s.upload(c, c.Param("certificate"), raw, mode)
}

// upload passes an uploaded file to the certificate manager.
func (s *Resource) upload(c *rest.Call, name string, raw []byte, mode certs.Mode) (rest.Object[CertificateItem], error) {
	if err := mayReplace(c, certs.CertificateUsers, fileOf(name)); err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	seen := c.Query(fingerprint)
	if now, err := s.deps.Certificates.Get(fileOf(name)); err == nil { // before names of another certificate are shown
		if err := (certs.Seen{Current: seen}).Check(now); err != nil {
			return rest.Object[CertificateItem]{}, Rejection(err)
		}
	}
	if after := s.deps.Certificates.UploadNames(fileOf(name), raw); after != nil { // else Upload refuses it
		if err := s.renames(c, fileOf(name), after); err != nil {
			return rest.Object[CertificateItem]{}, err
		}
	}
	v, warnings, err := s.deps.Certificates.UploadOver(c.Context, c.Author(), name, raw, mode, seen)
	if err != nil {
		return rest.Object[CertificateItem]{}, Rejection(err)
	}
	return rest.Object[CertificateItem]{
		Description: c.Summary(), Params: certificateItem(c, v), Warning: strings.Join(warnings, "; "),
		Message: fmt.Sprintf("The certificate %s has been uploaded.", v.Name),
	}, nil
}

// uploadParts uploads a certificate whose parts are separate fields.
func (s *Resource) uploadParts(c *rest.Call) (rest.Object[CertificateItem], error) {
	body, err := c.Texts(partFields{})
	if err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	raw := strings.Join([]string{body["key"], body["ca"], body["intermediates"]}, "\n")
	return s.upload(c, body["name"], []byte(raw), certs.Create)
}

// uploadPKCS12 uploads a PKCS #12 file with its password.
func (s *Resource) uploadPKCS12(c *rest.Call) (rest.Object[CertificateItem], error) {
	body, err := c.Object(pkcs12Fields{})
	if err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	var replace bool
	if err := rest.SetTruth(body, "replace", &replace); err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	delete(body, "replace")
	texts, err := rest.TextsOf(body)
	if err != nil {
		return rest.Object[CertificateItem]{}, err
	}
	file, err := base64.StdEncoding.DecodeString(texts["pkcs12"])
	if err != nil {
		return rest.Object[CertificateItem]{}, rest.BadRequest("pkcs12 must be the file in base64, as `base64 -w0 FILE` writes it")
	}
	raw, err := certs.Unpack(file, texts["password"])
	var wrong *certs.Error
	if errors.As(err, &wrong) && wrong.Password {
		return rest.Object[CertificateItem]{}, rest.BadRequest("password: %s", err)
	}
	if err != nil {
		return rest.Object[CertificateItem]{}, Rejection(err)
	}
	mode := certs.Create
	if replace {
		mode = certs.Put
	}
	return s.upload(c, texts["name"], raw, mode)
}

func (s *Resource) createRequest(c *rest.Call) (rest.Object[NewRequest], error) {
	body, err := c.Texts(requestFields{})
	if err != nil {
		return rest.Object[NewRequest]{}, err
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[NewRequest]{}, err
	}
	v, err := s.deps.Certificates.Request(c.Context, c.Author(), body["name"], certs.RequestFields{
		FQDN: body["fqdn"], Country: body["country"], State: body["state"], Locality: body["locality"], Organization: body["organization"],
		Division: body["division"], Mail: body["mail"], Names: splitNames(body["san"]),
	})
	if err != nil {
		return rest.Object[NewRequest]{}, Rejection(err)
	}
	csr, err := s.deps.Certificates.Download(v.Name)
	if err != nil {
		return rest.Object[NewRequest]{}, Rejection(err)
	}
	return rest.Object[NewRequest]{
		Description: c.Summary(), Params: NewRequest{CertificateItem: certificateItem(c, v), CSR: string(csr)},
		Message: fmt.Sprintf("The CSR %s has been created. Have it signed, then upload the certificate: its key is here.", v.Name),
	}, nil
}

func (s *Resource) deleteCertificate(c *rest.Call) (rest.Done, error) {
	if _, err := c.Expected(); err != nil {
		return rest.Done{}, err
	}
	name := c.Param("certificate")
	if err := mayReplace(c, certs.CertificateUsers, name); err != nil {
		return rest.Done{}, err
	}
	if err := s.renews(name); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Certificates.Delete(c.Context, c.Author(), name); err != nil {
		return rest.Done{}, Rejection(err)
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("The certificate %s has been deleted.", name)), nil
}

// OCSPSettings holds the settings of OCSP.
type OCSPSettings struct {
	Enabled string `json:"enabled" enum:"true,false" doc:"true if OCSP responses are fetched and stapled"`
	Private string `json:"private_responders" enum:"true,false" doc:"true if OCSP responders may have private addresses"`
}

func ocspSettings(o certs.OCSPSettings) OCSPSettings {
	return OCSPSettings{Enabled: rest.Truth(o.Enabled), Private: rest.Truth(o.PrivateResponders)}
}

func (s *Resource) getOCSP(c *rest.Call) (rest.Object[OCSPSettings], error) {
	return rest.Object[OCSPSettings]{Description: c.Summary(), Params: ocspSettings(s.deps.Certificates.OCSP())}, nil
}

func (s *Resource) setOCSP(c *rest.Call) (rest.Object[OCSPSettings], error) {
	body, err := c.Object(ocspFields{})
	if err != nil {
		return rest.Object[OCSPSettings]{}, err
	}
	settings := s.deps.Certificates.OCSP()
	for name, to := range map[string]*bool{"enabled": &settings.Enabled, "private_responders": &settings.PrivateResponders} {
		if err := rest.SetTruth(body, name, to); err != nil {
			return rest.Object[OCSPSettings]{}, err
		}
	}
	if err := c.Act(); err != nil {
		return rest.Object[OCSPSettings]{}, err
	}
	if err := s.deps.Certificates.SetOCSP(c.Author(), settings); err != nil {
		return rest.Object[OCSPSettings]{}, err
	}
	return rest.Object[OCSPSettings]{Description: c.Summary(), Params: ocspSettings(settings), Message: "The settings of OCSP have been changed."}, nil
}

// certificateItem describes a certificate and its users.
func certificateItem(c *rest.Call, v certs.View) CertificateItem {
	out := newCertificateItem(v)
	out.UsedBy = usedBy(c, certs.CertificateUsers, v.Name)
	return out
}

// ofOthers stands for farms that the caller does not see.
const ofOthers = "farms of other groups"

// usedBy returns the farms and services that use an object. Those hidden from the caller
// are summarised as ofOthers.
func usedBy(c *rest.Call, users func(cfg *farm.Config, name string) []string, name string) []string {
	all := users(c.Config, name)
	if c.SeesAll() {
		return all
	}
	seen := users(&farm.Config{Farms: c.Farms()}, name)
	if len(seen) < len(all) {
		seen = append(seen, ofOthers)
	}
	return seen
}

// mayReplace refuses changes to an object that is used by farms hidden from the caller.
// Those farms would otherwise serve another certificate or admit other clients.
func mayReplace(c *rest.Call, users func(cfg *farm.Config, name string) []string, name string) error {
	return c.Require(func() error {
		if c.By.Who.Root() || len(users(&farm.Config{Farms: c.Farms()}, name)) == len(users(c.Config, name)) {
			return nil
		}
		const hidden = "you may not change %s: farms use it that your group does not see"
		return rest.Refuse(http.StatusForbidden, hidden, rest.Quote(name))
	})
}

// Certificates stores certificates and authorities; *certs.Manager implements it.
type Certificates interface {
	List() []certs.View
	Get(name string) (certs.View, error)
	Download(name string) ([]byte, error)
	Describe(name string) ([]byte, error)
	UploadOver(
		ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode, fingerprint string,
	) (certs.View, []string, error)
	Request(ctx context.Context, by apply.Author, name string, fields certs.RequestFields) (certs.View, error)
	Delete(ctx context.Context, by apply.Author, name string) error
	Authorities() []certs.AuthorityView
	Authority(name string) (certs.AuthorityView, error)
	DownloadAuthority(name string) ([]byte, error)
	DescribeAuthority(name string) ([]byte, error)
	UploadAuthority(ctx context.Context, by apply.Author, name string, pem []byte, mode certs.Mode) (certs.AuthorityView, []string, error)
	ReplaceCRLs(ctx context.Context, by apply.Author, name string, raw []byte) (certs.AuthorityView, error)
	DeleteAuthority(ctx context.Context, by apply.Author, name string) error
	NamesOf(name string) []string
	PreviousNames(name string) []string
	UploadNames(name string, raw []byte) []string
	Restore(ctx context.Context, by apply.Author, name string, seen certs.Seen) (certs.View, error)
	OCSP() certs.OCSPSettings
	SetOCSP(by apply.Author, settings certs.OCSPSettings) error
}
