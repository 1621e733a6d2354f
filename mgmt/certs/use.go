package certs

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
	"github.com/sluicelb/sluice/mgmt/validate/system"
)

// reference is a part of a configuration that refers to a certificate or an authority list.
type reference struct {
	authority bool
	name      string
	farm      *farm.Farm    // nil for a machine setting
	service   *farm.Service // nil if the farm itself refers to it
	section   string        // of the machine settings
	field     string
}

// path returns the Path for errors of mgmt/validate.
func (r reference) path() string {
	if r.farm == nil {
		return system.Path(r.section)
	}
	if r.service == nil {
		return profile.FarmPath(r.farm.Name)
	}
	return profile.ServicePath(r.farm.Name, r.service.Name)
}

// user describes the referring object for people.
func (r reference) user() string {
	if r.farm == nil {
		return system.Path(r.section)
	}
	if r.service == nil {
		return "farm " + r.farm.Name
	}
	return fmt.Sprintf("service %s of farm %s", r.service.Name, r.farm.Name)
}

func (r reference) String() string {
	if r.authority {
		return fmt.Sprintf("authority list %q", r.name)
	}
	return fmt.Sprintf("certificate %q", r.name)
}

// references yields all references of a farm.
func references(f *farm.Farm) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		if t := f.ListenerTLS(); t != nil {
			for _, name := range t.Certificates {
				if !yield(reference{name: name, farm: f, field: "certificates"}) {
					return
				}
			}
			if t.ClientCA != "" && !yield(reference{authority: true, name: t.ClientCA, farm: f, field: "client_ca"}) {
				return
			}
		}
		services := f.Services()
		for i := range services {
			s := &services[i]
			if s.TLS == nil {
				continue
			}
			if s.TLS.CA != "" && !yield(reference{authority: true, name: s.TLS.CA, farm: f, service: s, field: "httpsb_ca"}) {
				return
			}
			if s.TLS.Certificate != "" && !yield(reference{name: s.TLS.Certificate, farm: f, service: s, field: "httpsb_certificate"}) {
				return
			}
		}
	}
}

// all yields all references of a configuration.
func all(cfg *farm.Config) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		for i := range cfg.Farms {
			for r := range references(&cfg.Farms[i]) {
				if !yield(r) {
					return
				}
			}
		}
		s := &cfg.System
		if name := s.API.Certificate; name != "" && !yield(reference{name: name, section: "http", field: "certificate"}) {
			return
		}
		if name := s.Syslog.CA; name != "" {
			yield(reference{authority: true, name: name, section: "syslog", field: "ca"})
		}
	}
}

// CertificateUsers names the farms, services and settings of cfg that use a certificate.
func CertificateUsers(cfg *farm.Config, name string) []string { return users(cfg, name, false) }

// AuthorityUsers names those that use an authority list.
func AuthorityUsers(cfg *farm.Config, name string) []string { return users(cfg, name, true) }

func users(cfg *farm.Config, name string, authority bool) []string {
	out := []string{}
	for r := range all(cfg) {
		if r.name == name && r.authority == authority {
			out = append(out, r.user())
		}
	}
	return out
}

// running returns the IDs of running farms that use the name.
func running(cfg *farm.Config, name string, authority bool) []uint32 {
	var out []uint32
	for i := range cfg.Farms {
		f := &cfg.Farms[i]
		if f.Stopped {
			continue
		}
		for r := range references(f) {
			if r.name == name && r.authority == authority {
				out = append(out, f.ID)
				break
			}
		}
	}
	return out
}

// Exists reports whether a usable certificate of that name exists; the name includes the
// extension.
func (b *Book) Exists(name string) bool { return b.problem(reference{name: name}) == "" }

// AuthorityExists reports whether an authority list of that name exists.
func (b *Book) AuthorityExists(name string) bool {
	return b.problem(reference{name: name, authority: true}) == ""
}

// problem explains why the referenced object cannot be used, or returns "".
func (b *Book) problem(r reference) string {
	if r.authority {
		a := b.authority(r.name)
		switch {
		case a == nil:
			return "does not exist: upload it first"
		case a.broken != nil:
			return "cannot be read: upload it again"
		}
		return ""
	}
	e := b.entry(r.name)
	switch {
	case e == nil:
		return "does not exist: upload it first"
	case e.request != nil:
		return "is a CSR: upload what your certification authority makes of it"
	}
	if _, err := b.key(e); err != nil {
		return "cannot be used: " + err.Error()
	}
	return ""
}

// Check implements apply.References.
func (b *Book) Check(old, cfg *farm.Config) error {
	known := map[string]bool{}
	for r := range all(old) {
		known[r.String()] = true
	}
	for r := range all(cfg) {
		if known[r.String()] {
			continue
		}
		if problem := b.problem(r); problem != "" {
			return &field.Error{Path: r.path(), Field: r.field, Message: fmt.Sprintf("%s: the %s %s", r.field, r, problem)}
		}
	}
	return nil
}

// Server returns a certificate with its key for the appliance's own listener.
func (b *Book) Server(name string) (*tls.Certificate, error) {
	if problem := b.problem(reference{name: name}); problem != "" {
		return nil, fmt.Errorf("the certificate %q %s", name, problem)
	}
	e := b.entry(name)
	if e == nil {
		return nil, fmt.Errorf("the certificate %q is gone", name)
	}
	der, err := b.key(e)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("the certificate %q: %w", name, err)
	}
	leaf, err := x509.ParseCertificate(e.rec.Chain[0])
	if err != nil {
		return nil, fmt.Errorf("the certificate %q: %w", name, err)
	}
	return &tls.Certificate{Certificate: e.rec.Chain, PrivateKey: key, Leaf: leaf}, nil
}

// Complete returns a copy of cfg for a snapshot, with the certificates and authorities it
// refers to. It also returns, by farm ID, why farms cannot run; those are stopped in the copy.
// A farm with an unusable certificate runs if it has another one. A farm with unusable
// authorities is stopped, because it would admit unauthorised clients.
func (b *Book) Complete(cfg *farm.Config) (*farm.Config, map[uint32]string) {
	out := *cfg // shares unchanged parts
	out.Farms, out.Certificates, out.Authorities = slices.Clone(cfg.Farms), slices.Clone(cfg.Certificates), slices.Clone(cfg.Authorities)
	c := completion{book: b, certificates: map[string]*farm.Certificate{}, authorities: map[string]*farm.Authority{}, problems: map[uint32]string{}}
	for i := range out.Farms {
		c.farm(&out.Farms[i])
	}
	for _, name := range slices.Sorted(maps.Keys(c.certificates)) {
		out.Certificates = append(out.Certificates, *c.certificates[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.authorities)) {
		out.Authorities = append(out.Authorities, *c.authorities[name])
	}
	return &out, c.problems
}

// completion collects the references of a configuration without duplicates.
type completion struct {
	book         *Book
	certificates map[string]*farm.Certificate
	authorities  map[string]*farm.Authority
	problems     map[uint32]string
}

func (c *completion) farm(f *farm.Farm) {
	var missing []string
	for r := range references(f) {
		if problem := c.take(r); problem != "" {
			missing = append(missing, r.String()+" "+problem)
		}
	}
	if len(missing) == 0 || f.Stopped {
		return // a stopped farm is checked when it is started
	}
	*f = f.Clone()
	fatal := f.ListenerTLS() != nil && c.prune(f.ListenerTLS())
	for _, s := range f.Services() {
		if t := s.TLS; t != nil {
			fatal = fatal || t.CA != "" && c.authorities[t.CA] == nil
			if c.certificates[t.Certificate] == nil {
				t.Certificate = "" // the backend will reject the connection
			}
		}
	}
	if fatal {
		f.Stopped = true
		c.problems[f.ID] = strings.Join(missing, "; ")
		return
	}
	c.book.log.Error("farm runs without a certificate it should have", "farm", f.Name, "reason", strings.Join(missing, "; "))
}

// prune removes unusable certificates and reports whether the farm cannot run with the
// rest.
func (c *completion) prune(t *farm.TLS) bool {
	t.Certificates = slices.DeleteFunc(t.Certificates, func(name string) bool { return c.certificates[name] == nil })
	return len(t.Certificates) == 0 || t.ClientCA != "" && c.authorities[t.ClientCA] == nil
}

// take adds the referenced object, or explains why it cannot.
func (c *completion) take(r reference) string {
	if r.authority {
		a := c.book.authority(r.name)
		if a == nil || a.broken != nil {
			return c.book.problem(r)
		}
		c.authorities[r.name] = &farm.Authority{Name: r.name, Certificates: a.rec.Certificates, Revoked: a.rec.Revoked}
		return ""
	}
	if c.certificates[r.name] != nil {
		return ""
	}
	e := c.book.entry(r.name)
	if e == nil || e.request != nil {
		return c.book.problem(r)
	}
	key, err := c.book.key(e)
	if err != nil {
		return "cannot be used: " + err.Error()
	}
	c.certificates[r.name] = &farm.Certificate{Name: r.name, Chain: e.rec.Chain, Key: key, Staple: e.freshStaple(c.book.now())}
	return ""
}
