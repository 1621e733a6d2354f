package certificates

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// authorityOperations returns the operations of authority lists, which verify clients
// (client_ca of a farm) and backends. Zevenet has no such operations; the paths are similar
// to the paths of certificates.
func (s *Resource) authorityOperations() []*rest.Operation {
	const one = "/certificates/ca/{authority}"
	return []*rest.Operation{
		rest.Op(rest.Get, "/certificates/ca", rbac.CertificateShow, "List authority lists", s.listAuthorities),
		rest.File(rest.Get, one, rbac.CertificateDownload, "Download an authority list", rest.DownloadType, s.downloadAuthority),
		rest.Op(rest.Post, one, rbac.CertificateUpload, "Upload an authority list", s.uploadAuthority).TakesFile(pemTypes).Created().
			With("replace", "true to replace an existing list of that name"),
		rest.Op(rest.Put, one, rbac.CertificateUpload, "Replace an authority list", s.replaceAuthority).TakesFile(pemTypes),
		rest.Op(rest.Delete, one, rbac.CertificateDelete, "Delete an authority list", s.deleteAuthority),
		rest.Op(rest.Get, one+"/status", rbac.CertificateShow, "Get the state of an authority list", s.getAuthority),
		rest.File(rest.Get, one+"/info", rbac.CertificateShow, "Describe an authority list", textType, s.describeAuthority),
		rest.Op(rest.Put, one+"/crl", rbac.CertificateUpload, "Replace the CRLs of an authority list", s.replaceCRLs).TakesFile(crlTypes),
		rest.Op(rest.Delete, one+"/crl", rbac.CertificateUpload, "Delete the CRLs of an authority list", s.deleteCRLs),
	}
}

// AuthorityItem describes an authority list.
type AuthorityItem struct {
	Name         string                 `json:"name"`
	Status       certs.Status           `json:"status" enum:"valid,about to expire,expired,invalid" doc:"Worst status of the certificates used for verification"`
	Problem      string                 `json:"problem"`
	Certificates []AuthorityCertificate `json:"certificates"`
	CRLs         []CRLItem              `json:"crls"`
	UsedBy       []string               `json:"used_by" doc:"Farms and services that use it; it cannot be deleted while any do"`
	Added        time.Time              `json:"added"`
	Author       string                 `json:"author"`
}

// AuthorityCertificate is one certificate of an authority list.
type AuthorityCertificate struct {
	CN         string       `json:"CN"`
	Expiration time.Time    `json:"expiration"`
	Status     certs.Status `json:"status"`
}

// CRLItem is one CRL of an authority list.
type CRLItem struct {
	Issuer     string     `json:"issuer"`
	ThisUpdate time.Time  `json:"this_update"`
	NextUpdate *time.Time `json:"next_update"`
	Entries    int        `json:"entries"`
	Outdated   string     `json:"outdated" enum:"true,false"`
}

func authorityItem(c *rest.Call, v certs.AuthorityView) AuthorityItem {
	out := AuthorityItem{Name: v.Name, Status: v.Status, Problem: v.Problem, Certificates: []AuthorityCertificate{}, CRLs: []CRLItem{},
		UsedBy: usedBy(c, certs.AuthorityUsers, v.Name), Added: v.Added, Author: v.Author}
	for _, one := range v.Certificates {
		out.Certificates = append(out.Certificates, AuthorityCertificate{CN: one.CN, Expiration: one.NotAfter, Status: one.Status})
	}
	for _, l := range v.CRLs {
		out.CRLs = append(out.CRLs, CRLItem{Issuer: l.Issuer, ThisUpdate: l.ThisUpdate, NextUpdate: timeOrNull(l.NextUpdate), Entries: l.Entries, Outdated: rest.Truth(l.Outdated)})
	}
	return out
}

func (s *Resource) listAuthorities(c *rest.Call) (rest.List[AuthorityItem], error) {
	var out []AuthorityItem
	for _, v := range s.deps.Certificates.Authorities() {
		out = append(out, authorityItem(c, v))
	}
	return rest.NewList(c.Summary(), out), nil
}

func (s *Resource) getAuthority(c *rest.Call) (rest.Object[AuthorityItem], error) {
	v, err := s.deps.Certificates.Authority(c.Param("authority"))
	if err != nil {
		return rest.Object[AuthorityItem]{}, Rejection(err)
	}
	return rest.Object[AuthorityItem]{Description: "Get authority list " + v.Name, Params: authorityItem(c, v)}, nil
}

func (s *Resource) downloadAuthority(c *rest.Call) ([]byte, error) {
	content, err := s.deps.Certificates.DownloadAuthority(c.Param("authority"))
	if err != nil {
		return nil, Rejection(err)
	}
	c.SaveAs(c.Param("authority") + ".pem")
	return content, nil
}

func (s *Resource) describeAuthority(c *rest.Call) ([]byte, error) {
	text, err := s.deps.Certificates.DescribeAuthority(c.Param("authority"))
	return text, Rejection(err)
}

func (s *Resource) uploadAuthority(c *rest.Call) (rest.Object[AuthorityItem], error) {
	replace, err := c.Flag("replace")
	if err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	if replace {
		return s.takeAuthority(c, certs.Put)
	}
	return s.takeAuthority(c, certs.Create)
}

func (s *Resource) replaceAuthority(c *rest.Call) (rest.Object[AuthorityItem], error) {
	return s.takeAuthority(c, certs.Replace)
}

func (s *Resource) takeAuthority(c *rest.Call, mode certs.Mode) (rest.Object[AuthorityItem], error) {
	if err := mayReplace(c, certs.AuthorityUsers, c.Param("authority")); err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	raw, err := rest.ReadBody(c.Request, certs.MaxAuthorityPEM, pemTypes)
	if err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	v, warnings, err := s.deps.Certificates.UploadAuthority(c.Context, c.Author(), c.Param("authority"), raw, mode)
	if err != nil {
		return rest.Object[AuthorityItem]{}, Rejection(err)
	}
	return rest.Object[AuthorityItem]{
		Description: c.Summary(), Params: authorityItem(c, v), Warning: strings.Join(warnings, "; "),
		Message: fmt.Sprintf("The authority list %s has been uploaded.", v.Name),
	}, nil
}

func (s *Resource) replaceCRLs(c *rest.Call) (rest.Object[AuthorityItem], error) {
	raw, err := rest.ReadBody(c.Request, certs.MaxCRL, crlTypes)
	if err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	if raw == nil {
		raw = []byte{}
	}
	return s.setCRLs(c, raw, "The CRLs of the authority list %s have been replaced.")
}

func (s *Resource) deleteCRLs(c *rest.Call) (rest.Object[AuthorityItem], error) {
	return s.setCRLs(c, nil, "The CRLs of the authority list %s have been deleted.")
}

func (s *Resource) setCRLs(c *rest.Call, raw []byte, message string) (rest.Object[AuthorityItem], error) {
	if err := mayReplace(c, certs.AuthorityUsers, c.Param("authority")); err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	if _, err := c.Expected(); err != nil {
		return rest.Object[AuthorityItem]{}, err
	}
	v, err := s.deps.Certificates.ReplaceCRLs(c.Context, c.Author(), c.Param("authority"), raw)
	if err != nil {
		return rest.Object[AuthorityItem]{}, Rejection(err)
	}
	return rest.Object[AuthorityItem]{Description: c.Summary(), Params: authorityItem(c, v), Message: fmt.Sprintf(message, v.Name)}, nil
}

func (s *Resource) deleteAuthority(c *rest.Call) (rest.Done, error) {
	if _, err := c.Expected(); err != nil {
		return rest.Done{}, err
	}
	name := c.Param("authority")
	if err := mayReplace(c, certs.AuthorityUsers, name); err != nil {
		return rest.Done{}, err
	}
	if err := s.deps.Certificates.DeleteAuthority(c.Context, c.Author(), name); err != nil {
		return rest.Done{}, Rejection(err)
	}
	return rest.NewDone(c.Summary(), fmt.Sprintf("The authority list %s has been deleted.", name)), nil
}
