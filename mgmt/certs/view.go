package certs

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// View describes a certificate or a CSR, without its key.
type View struct {
	Name    string // with its extension
	CSR     bool
	CN      string
	Issuer  string
	Names   []string // subject alternative names
	KeyType string   // e.g. "RSA 2048"
	// NotBefore and NotAfter are zero in a CSR.
	NotBefore, NotAfter time.Time
	DaysLeft            int // below 0 once expired; valid unless CSR
	Status              Status
	// Problem is the reason why the certificate cannot be used, or another defect.
	Problem     string
	Fingerprint string // SHA-256 of the leaf; "" in a CSR
	ChainLength int
	// MissingIssuer names an issuer whose certificate is missing from the chain although
	// clients probably need it.
	MissingIssuer string
	// Appliance marks the certificate of the management API.
	Appliance  bool
	MustStaple bool
	OCSP       OCSPView
	Added      time.Time
	Author     string
	// Previous is the replaced certificate, nil if none is kept.
	Previous *PreviousView
}

// PreviousView describes a replaced certificate.
type PreviousView struct {
	Names       []string
	NotAfter    time.Time
	Fingerprint string
	Added       time.Time
	Author      string
}

// OCSPView describes the OCSP responses of a certificate.
type OCSPView struct {
	Responder string // "" if the certificate has none, or its issuer is missing
	// Stapled reports whether a response is sent to clients; NextUpdate is its end.
	Stapled    bool
	NextUpdate time.Time
	// Problem is the error of the last attempt, Retry the time of the next one.
	Problem string
	Retry   time.Time
}

// List returns all certificates and CSRs, sorted by name.
func (b *Book) List() []View {
	var out []View
	for _, e := range b.all() {
		out = append(out, b.view(e))
	}
	return out
}

// Get returns one certificate or CSR; ErrNotFound.
func (b *Book) Get(name string) (View, error) {
	e := b.entry(name)
	if e == nil {
		return View{}, fmt.Errorf("the certificate %q %w", show(name), ErrNotFound)
	}
	return b.view(e), nil
}

func (b *Book) view(e *entry) View {
	now := b.now()
	v := View{Name: e.rec.Name, CSR: len(e.rec.Request) > 0, Status: StatusUnknown, Added: e.rec.Added, Author: e.rec.Author, Appliance: e.plain != nil}
	if _, err := b.key(e); err != nil {
		v.Problem = err.Error()
	}
	switch {
	case e.request != nil:
		v.CN, v.KeyType = nameOf(e.request.Subject), describeKey(e.request.PublicKey)
		v.Names = requestNames(e.request)
	case e.broken == nil:
		leaf := e.chain[0]
		sum := sha256.Sum256(leaf.Raw)
		v.CN, v.Issuer, v.Names, v.KeyType = called(leaf), nameOf(leaf.Issuer), hostNames(leaf), describeKey(leaf.PublicKey)
		v.NotBefore, v.NotAfter, v.DaysLeft = leaf.NotBefore.UTC(), leaf.NotAfter.UTC(), daysLeft(leaf, now)
		v.Status, v.Fingerprint, v.ChainLength, v.MustStaple = statusAt(leaf, now), colons(sum[:]), len(e.chain), mustStaple(leaf)
		v.OCSP, v.MissingIssuer = e.ocspView(now), b.missingIssuer(e.chain)
		if v.Status == StatusInvalid && v.Problem == "" {
			v.Problem = "it is not valid before " + v.NotBefore.Format(time.RFC3339)
		}
	}
	if v.Problem != "" {
		v.Status = StatusInvalid
	}
	v.Previous = e.previousView()
	return v
}

func (e *entry) ocspView(now time.Time) OCSPView {
	var v OCSPView
	if e.stapled() {
		v.Responder = clean(e.chain[0].OCSPServer[0])
	}
	if e.freshStaple(now) != nil {
		v.Stapled, v.NextUpdate = true, e.staple.NextUpdate
	}
	return v
}

// Download returns the public part of a certificate or CSR as PEM: the chain or the CSR,
// never a key. ErrNotFound.
func (b *Book) Download(name string) ([]byte, error) {
	e := b.entry(name)
	if e == nil {
		return nil, fmt.Errorf("the certificate %q %w", show(name), ErrNotFound)
	}
	if len(e.rec.Request) > 0 {
		return encodePEM("CERTIFICATE REQUEST", e.rec.Request), nil
	}
	return encodePEM("CERTIFICATE", e.rec.Chain...), nil
}

// Describe returns a readable description of a certificate or a CSR. ErrNotFound.
func (b *Book) Describe(name string) ([]byte, error) {
	e := b.entry(name)
	if e == nil {
		return nil, fmt.Errorf("the certificate %q %w", show(name), ErrNotFound)
	}
	var d dump
	switch {
	case e.broken != nil:
		d.line(0, "The certificate cannot be read: %s", e.broken)
	case e.request != nil:
		d.request(e.request)
	default:
		for _, c := range e.chain {
			d.certificate(c, b.now())
		}
	}
	return d.Bytes(), nil
}

// AuthorityView describes an authority list.
type AuthorityView struct {
	Name         string
	Certificates []AuthorityCertificate
	CRLs         []CRLView
	Status       Status // the worst of its certificates that still verify anything
	Problem      string
	Added        time.Time
	Author       string
}

// AuthorityCertificate is one certificate of a list.
type AuthorityCertificate struct {
	CN       string
	NotAfter time.Time
	Status   Status
}

// CRLView is one CRL of a list.
type CRLView struct {
	Issuer                 string
	ThisUpdate, NextUpdate time.Time // NextUpdate is zero if the CRL has none
	Entries                int
	Outdated               bool
}

// Authorities returns all authority lists, sorted by name.
func (b *Book) Authorities() []AuthorityView {
	var out []AuthorityView
	for _, a := range b.allAuthorities() {
		out = append(out, b.authorityView(a))
	}
	return out
}

// Authority returns one authority list; ErrNotFound.
func (b *Book) Authority(name string) (AuthorityView, error) {
	a := b.authority(name)
	if a == nil {
		return AuthorityView{}, fmt.Errorf("the authority list %q %w", show(name), ErrNotFound)
	}
	return b.authorityView(a), nil
}

func (b *Book) authorityView(a *authority) AuthorityView {
	now := b.now()
	v := AuthorityView{Name: a.rec.Name, Added: a.rec.Added, Author: a.rec.Author, Status: StatusExpired}
	if a.broken != nil {
		v.Status, v.Problem = StatusInvalid, "it cannot be read: upload it again"
		return v
	}
	for _, c := range a.certs {
		status := statusAt(c, now)
		v.Certificates = append(v.Certificates, AuthorityCertificate{called(c), c.NotAfter.UTC(), status})
		if v.Status == StatusExpired || status == StatusSoon && v.Status == StatusValid {
			v.Status = status
		}
	}
	for _, l := range a.lists {
		v.CRLs = append(v.CRLs, CRLView{nameOf(l.Issuer), l.ThisUpdate.UTC(), l.NextUpdate.UTC(), len(l.RevokedCertificateEntries), outdated(l, now)})
		if outdated(l, now) {
			v.Problem = "the CRL of " + nameOf(l.Issuer) + " is outdated since " + day(l.NextUpdate)
		}
	}
	return v
}

// DownloadAuthority returns an authority list as PEM, followed by its CRLs. ErrNotFound.
func (b *Book) DownloadAuthority(name string) ([]byte, error) {
	a := b.authority(name)
	if a == nil {
		return nil, fmt.Errorf("the authority list %q %w", show(name), ErrNotFound)
	}
	return append(encodePEM("CERTIFICATE", a.rec.Certificates...), encodePEM("X509 CRL", a.rec.Revoked...)...), nil
}

// DescribeAuthority returns a readable description of an authority list. ErrNotFound.
func (b *Book) DescribeAuthority(name string) ([]byte, error) {
	a := b.authority(name)
	if a == nil {
		return nil, fmt.Errorf("the authority list %q %w", show(name), ErrNotFound)
	}
	var d dump
	for _, c := range a.certs {
		d.certificate(c, b.now())
	}
	for _, l := range a.lists {
		d.list(l, b.now())
	}
	return d.Bytes(), nil
}

// FarmCertificates describes the certificates of a farm in order. A missing one is listed
// by name with a problem.
func (b *Book) FarmCertificates(f *farm.Farm) []View {
	if f.ListenerTLS() == nil {
		return nil
	}
	var out []View
	for _, name := range f.ListenerTLS().Certificates {
		v, err := b.Get(name)
		if err != nil {
			v = View{Name: name, Status: StatusInvalid, Problem: err.Error()}
		}
		out = append(out, v)
	}
	return out
}
