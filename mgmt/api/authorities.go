package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/rbac"
)

// Lists of authorities are what clients (client_ca of a farm) and backends are
// verified by. The family has none; the paths follow those of certificates.
func (s *Server) authorityOperations() []*operation {
	const one = "/certificates/ca/{authority}"
	return []*operation{
		op(get, "/certificates/ca", rbac.CertificateShow, "List authority lists", s.listAuthorities),
		file(get, one, rbac.CertificateDownload, "Download an authority list", downloadType, s.downloadAuthority),
		op(post, one, rbac.CertificateUpload, "Upload an authority list", s.uploadAuthority).takesFile(pemTypes).created().
			with("replace", "true to replace a list that has the name"),
		op(put, one, rbac.CertificateUpload, "Replace an authority list", s.replaceAuthority).takesFile(pemTypes),
		op(del, one, rbac.CertificateDelete, "Delete an authority list", s.deleteAuthority),
		op(get, one+"/status", rbac.CertificateShow, "Get the state of an authority list", s.getAuthority),
		file(get, one+"/info", rbac.CertificateShow, "Describe an authority list", textType, s.describeAuthority),
		op(put, one+"/crl", rbac.CertificateUpload, "Replace the CRLs of an authority list", s.replaceCRLs).takesFile(crlTypes),
		op(del, one+"/crl", rbac.CertificateUpload, "Delete the CRLs of an authority list", s.deleteCRLs),
	}
}

// AuthorityItem is what can be seen of a list of authorities.
type AuthorityItem struct {
	Name         string                 `json:"name"`
	Status       certs.Status           `json:"status" enum:"valid,about to expire,expired,invalid" doc:"The worst of those that verify anything"`
	Problem      string                 `json:"problem"`
	Certificates []AuthorityCertificate `json:"certificates"`
	CRLs         []CRLItem              `json:"crls"`
	UsedBy       []string               `json:"used_by" doc:"Farms and services that use it; it cannot be deleted as long as there are some"`
	Added        time.Time              `json:"added"`
	Author       string                 `json:"author"`
}

// AuthorityCertificate is one certificate of a list of authorities.
type AuthorityCertificate struct {
	CN         string       `json:"CN"`
	Expiration time.Time    `json:"expiration"`
	Status     certs.Status `json:"status"`
}

// CRLItem is one CRL of a list of authorities.
type CRLItem struct {
	Issuer     string     `json:"issuer"`
	ThisUpdate time.Time  `json:"this_update"`
	NextUpdate *time.Time `json:"next_update"`
	Entries    int        `json:"entries"`
	Outdated   string     `json:"outdated" enum:"true,false"`
}

func (c *call) authorityItem(v certs.AuthorityView) AuthorityItem {
	out := AuthorityItem{Name: v.Name, Status: v.Status, Problem: v.Problem, Certificates: []AuthorityCertificate{}, CRLs: []CRLItem{},
		UsedBy: c.usedBy(certs.AuthorityUsers, v.Name), Added: v.Added, Author: v.Author}
	for _, one := range v.Certificates {
		out.Certificates = append(out.Certificates, AuthorityCertificate{CN: one.CN, Expiration: one.NotAfter, Status: one.Status})
	}
	for _, l := range v.CRLs {
		out.CRLs = append(out.CRLs, CRLItem{Issuer: l.Issuer, ThisUpdate: l.ThisUpdate, NextUpdate: timeOrNull(l.NextUpdate), Entries: l.Entries, Outdated: truth(l.Outdated)})
	}
	return out
}

func (s *Server) listAuthorities(c *call) (List[AuthorityItem], error) {
	var out []AuthorityItem
	for _, v := range s.deps.Certificates.Authorities() {
		out = append(out, c.authorityItem(v))
	}
	return list(c.op.summary, out), nil
}

func (s *Server) getAuthority(c *call) (Object[AuthorityItem], error) {
	v, err := s.deps.Certificates.Authority(c.param("authority"))
	if err != nil {
		return Object[AuthorityItem]{}, certRejection(err)
	}
	return Object[AuthorityItem]{Description: "Get authority list " + v.Name, Params: c.authorityItem(v)}, nil
}

func (s *Server) downloadAuthority(c *call) ([]byte, error) {
	content, err := s.deps.Certificates.DownloadAuthority(c.param("authority"))
	if err != nil {
		return nil, certRejection(err)
	}
	c.saveAs(c.param("authority") + ".pem")
	return content, nil
}

func (s *Server) describeAuthority(c *call) ([]byte, error) {
	text, err := s.deps.Certificates.DescribeAuthority(c.param("authority"))
	return text, certRejection(err)
}

func (s *Server) uploadAuthority(c *call) (Object[AuthorityItem], error) {
	replace, err := c.flag("replace")
	if err != nil {
		return Object[AuthorityItem]{}, err
	}
	if replace {
		return s.takeAuthority(c, certs.Put)
	}
	return s.takeAuthority(c, certs.Create)
}

func (s *Server) replaceAuthority(c *call) (Object[AuthorityItem], error) {
	return s.takeAuthority(c, certs.Replace)
}

func (s *Server) takeAuthority(c *call, mode certs.Mode) (Object[AuthorityItem], error) {
	raw, err := readBody(c.r, certs.MaxAuthorityPEM, pemTypes)
	if err != nil {
		return Object[AuthorityItem]{}, err
	}
	if _, err := c.expected(); err != nil {
		return Object[AuthorityItem]{}, err
	}
	v, warnings, err := s.deps.Certificates.UploadAuthority(c.ctx, c.author(), c.param("authority"), raw, mode)
	if err != nil {
		return Object[AuthorityItem]{}, certRejection(err)
	}
	return Object[AuthorityItem]{
		Description: c.op.summary, Params: c.authorityItem(v), Warning: strings.Join(warnings, "; "),
		Message: fmt.Sprintf("The authority list %s has been uploaded.", v.Name),
	}, nil
}

func (s *Server) replaceCRLs(c *call) (Object[AuthorityItem], error) {
	raw, err := readBody(c.r, certs.MaxCRL, crlTypes)
	if err != nil {
		return Object[AuthorityItem]{}, err
	}
	if raw == nil {
		raw = []byte{}
	}
	return s.setCRLs(c, raw, "The CRLs of the authority list %s have been replaced.")
}

func (s *Server) deleteCRLs(c *call) (Object[AuthorityItem], error) {
	return s.setCRLs(c, nil, "The CRLs of the authority list %s have been deleted.")
}

func (s *Server) setCRLs(c *call, raw []byte, message string) (Object[AuthorityItem], error) {
	if _, err := c.expected(); err != nil {
		return Object[AuthorityItem]{}, err
	}
	v, err := s.deps.Certificates.ReplaceCRLs(c.ctx, c.author(), c.param("authority"), raw)
	if err != nil {
		return Object[AuthorityItem]{}, certRejection(err)
	}
	return Object[AuthorityItem]{Description: c.op.summary, Params: c.authorityItem(v), Message: fmt.Sprintf(message, v.Name)}, nil
}

func (s *Server) deleteAuthority(c *call) (Done, error) {
	if _, err := c.expected(); err != nil {
		return Done{}, err
	}
	name := c.param("authority")
	if err := s.deps.Certificates.DeleteAuthority(c.ctx, c.author(), name); err != nil {
		return Done{}, certRejection(err)
	}
	return done(c.op.summary, fmt.Sprintf("The authority list %s has been deleted.", name)), nil
}
