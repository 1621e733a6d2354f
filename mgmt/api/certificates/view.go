package certificates

import (
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/validate/field"
)

// CertificateItem describes a certificate or a CSR. The first fields are the same as in
// Zevenet.
type CertificateItem struct {
	File       string       `json:"file"`
	Type       string       `json:"type" enum:"Certificate,CSR"`
	CN         string       `json:"CN"`
	Issuer     string       `json:"issuer"`
	Creation   *time.Time   `json:"creation" doc:"Start of validity; for a CSR, the creation time"`
	Expiration *time.Time   `json:"expiration" doc:"null for a CSR"`
	Status     certs.Status `json:"status" enum:"valid,about to expire,expired,invalid,unknown" doc:"unknown for a CSR"`
	Key        string       `json:"key" doc:"Name of the key of a CSR; keys cannot be downloaded"`

	DaysLeft    *int       `json:"days_left" doc:"null for a CSR"`
	Problem     string     `json:"problem" doc:"Reason why it is invalid"`
	KeyType     string     `json:"key_type"`
	Names       []string   `json:"names" doc:"Subject alternative names"`
	Fingerprint string     `json:"fingerprint" doc:"SHA-256 of the certificate"`
	ChainLength int        `json:"chain_length"`
	Missing     string     `json:"missing_issuer" doc:"Issuer missing from the chain; clients reject the certificate unless they have it as a trusted root"`
	UsedBy      []string   `json:"used_by" doc:"Farms and services that use it; it cannot be deleted while any do"`
	Appliance   string     `json:"appliance" enum:"true,false" doc:"true for the certificate of this API"`
	MustStaple  string     `json:"must_staple" enum:"true,false"`
	OCSP        OCSPStatus `json:"ocsp"`
	Added       time.Time  `json:"added"`
	Author      string     `json:"author"`
	Previous    *Previous  `json:"previous,omitempty" doc:"Certificate that it replaced; POST /certificates/{certificate}/actions restores it"`
}

// Previous describes a replaced certificate.
type Previous struct {
	Names       []string  `json:"names" doc:"Host names and addresses"`
	Expiration  time.Time `json:"expiration"`
	Fingerprint string    `json:"fingerprint" doc:"SHA-256 of the certificate"`
	Added       time.Time `json:"added"`
	Author      string    `json:"author"`
}

// OCSPStatus describes the OCSP responses of a certificate.
type OCSPStatus struct {
	Responder  string     `json:"responder" doc:"Empty if there is none or the issuer is not in the chain"`
	Stapled    string     `json:"stapled" enum:"true,false"`
	NextUpdate *time.Time `json:"next_update"`
	Problem    string     `json:"problem" doc:"Error of the last OCSP fetch"`
	Retry      *time.Time `json:"retry" doc:"Time of the next attempt after a failure"`
}

// NewRequest is a newly created CSR.
type NewRequest struct {
	CertificateItem
	CSR string `json:"csr" doc:"CSR in PEM, for the certificate authority"`
}

func newCertificateItem(v certs.View) CertificateItem {
	out := CertificateItem{
		File: v.Name, Type: "Certificate", CN: v.CN, Issuer: v.Issuer, Creation: &v.NotBefore, Expiration: &v.NotAfter, Status: v.Status,
		DaysLeft: &v.DaysLeft, Problem: v.Problem, KeyType: v.KeyType, Names: v.Names, Fingerprint: v.Fingerprint, ChainLength: v.ChainLength, Missing: v.MissingIssuer,
		UsedBy: []string{}, Appliance: rest.Truth(v.Appliance), MustStaple: rest.Truth(v.MustStaple), Added: v.Added, Author: v.Author,
		OCSP: OCSPStatus{Responder: v.OCSP.Responder, Stapled: rest.Truth(v.OCSP.Stapled), Problem: v.OCSP.Problem,
			NextUpdate: timeOrNull(v.OCSP.NextUpdate), Retry: timeOrNull(v.OCSP.Retry)},
	}
	if p := v.Previous; p != nil {
		out.Previous = &Previous{p.Names, p.NotAfter, p.Fingerprint, p.Added, p.Author}
	}
	if out.Names == nil {
		out.Names = []string{}
	}
	if v.CSR {
		out.Type, out.Creation, out.Expiration, out.DaysLeft = "CSR", &v.Added, nil, nil
		out.Key = strings.TrimSuffix(v.Name, ".csr") + ".key"
	}
	return out
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// requestFields, partFields, pkcs12Fields and ocspFields are the bodies of requests about
// certificates.
type (
	requestFields struct{}
	partFields    struct{}
	pkcs12Fields  struct{}
	ocspFields    struct{}
)

// Params lists the fields for OpenAPI.
func (requestFields) Params() []field.Param {
	return []field.Param{
		rest.Needed("name", "Name of the CSR: letters, digits and hyphens."), rest.Needed("fqdn", "Host name or wildcard, e.g. *.example.com."),
		rest.Needed("country", "Country code, two letters."), rest.Needed("state", "State or province."), rest.Needed("locality", "City, without hyphens and dots."),
		rest.Needed("organization", "Organization, without hyphens and dots."), rest.Needed("division", "Organizational unit."), rest.Needed("mail", "Email address."),
		rest.Optional("san", "Additional host names and addresses, separated by commas."),
	}
}

// Params lists the fields for OpenAPI.
func (partFields) Params() []field.Param {
	return []field.Param{
		rest.Needed("name", "Name of the certificate."), {Name: "ca", Options: []string{"non_blank", "required"}, Description: "Certificate (PEM).", Plain: field.Plain{Type: "string", MinLength: 1, Example: "(the certificate, PEM)"}},
		rest.Optional("key", "Private key (PEM); omit it if the certificate belongs to a CSR of this appliance."),
		rest.Optional("intermediates", "Intermediate certificates (PEM)."),
	}
}

// Params lists the fields for OpenAPI.
func (pkcs12Fields) Params() []field.Param {
	return []field.Param{
		rest.Needed("name", "Name of the certificate."),
		{Name: "pkcs12", Options: []string{"non_blank", "required"}, Description: "PKCS#12 file (.p12, .pfx) in base64, with certificate, private key and intermediate certificates.", Plain: field.Plain{Type: "string", MinLength: 1, Example: "MIIJ…"}},
		rest.Optional("password", "Password of the file; it is not stored."),
		{Name: "replace", PossibleValues: []string{"true", "false"}, Options: []string{"non_blank"}, Description: "Replace an existing certificate of that name."},
	}
}

// Params lists the fields for OpenAPI.
func (ocspFields) Params() []field.Param {
	words := []string{"true", "false"}
	return []field.Param{
		{Name: "enabled", PossibleValues: words, Options: []string{"non_blank"}, Description: "Fetch and staple OCSP responses."},
		{Name: "private_responders", PossibleValues: words, Options: []string{"non_blank"}, Description: "Allow OCSP responders with private addresses."},
	}
}

// splitNames splits a comma-separated list and trims blanks.
func splitNames(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
