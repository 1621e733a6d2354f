package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/store"
)

func TestEveryUserOfACertificateIsNamed(t *testing.T) {
	d := farm.DefaultHTTP()
	d.TLS = &farm.TLS{Certificates: []string{"a.pem", "b.pem"}, ClientCA: "clients"}
	for i, b := range []*farm.BackendTLS{nil, {CA: "one", Certificate: "b.pem"}, {}, {CA: "one", Certificate: "c.pem"}} {
		d.Services = append(d.Services, farm.Service{Name: fmt.Sprintf("s%d", i), TLS: b})
	}
	cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, Name: "shop", Profile: farm.ProfileHTTP, HTTP: d}}}
	cfg.System.API.Certificate, cfg.System.Syslog.CA = "b.pem", "logs"
	for name, want := range map[string]string{"a.pem": "farm shop", "b.pem": "farm shop, service s1 of farm shop, system http", "c.pem": "service s3 of farm shop", "clients": "", "": ""} {
		if got := strings.Join(certs.CertificateUsers(cfg, name), ", "); got != want {
			t.Errorf("the certificate %q is used by %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"clients": "farm shop", "logs": "system syslog", "one": "service s1 of farm shop, service s3 of farm shop", "a.pem": "", "": ""} {
		if got := strings.Join(certs.AuthorityUsers(cfg, name), ", "); got != want {
			t.Errorf("the authority list %q is used by %s, want %s", name, got, want)
		}
	}
}

// Machine settings refer to certificates like farms do.
func TestMachineSettingsReferToExistingCertificates(t *testing.T) {
	h := newHouse(t)
	with := func(name string) error {
		return h.change(func(cfg *farm.Config) error { cfg.System.API.Certificate = name; return nil })
	}
	if err := with("gui.pem"); err == nil || err.Error() != `system http: certificate: the certificate "gui.pem" does not exist: upload it first` {
		t.Errorf("a missing certificate: %v", err)
	}
	h.upload("gui", h.root.Issue("api.example").FullPEM(), certs.Create)
	h.must(with("gui.pem"))
	if err := h.Delete(t.Context(), by, "gui.pem"); !errors.Is(err, certs.ErrInUse) || !strings.Contains(err.Error(), "system http") {
		t.Errorf("deleted while it is used: %v", err)
	}
}

func TestAMessageNamesEightUsers(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	for i := range 9 {
		h.must(h.https(fmt.Sprintf("f%d", i), uint16(441+i), farm.TLS{Certificates: []string{"shop.pem"}}))
		want := map[int]string{7: ", farm f7", 8: ", farm f7 and 1 more"}[i]
		if err := h.Delete(t.Context(), by, "shop.pem"); !errors.Is(err, certs.ErrInUse) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("used by %d: %v", i+1, err)
		}
	}
}

// A certificate for a stopped farm may be uploaded before it is valid.
func TestUploadDoesNotPublishForStoppedFarms(t *testing.T) {
	h := newHouse(t)
	h.upload("shop", h.root.Issue("shop.example").FullPEM(), certs.Create)
	h.must(h.https("shop", 443, farm.TLS{Certificates: []string{"shop.pem"}}))
	h.must(h.change(func(cfg *farm.Config) error { cfg.Farms[0].Stopped = true; return nil }))
	published := h.pub.Published()
	h.upload("shop", h.root.Issue("shop.example", func(c *x509.Certificate) { c.NotBefore = now.AddDate(0, 0, 2) }).FullPEM(), certs.Replace)
	if h.pub.Published() != published {
		t.Error("published although no running farm uses it")
	}
	cfg, _ := h.applier.Current()
	if v := h.FarmCertificates(cfg.Farm("shop")); len(v) != 1 || v[0].Status != certs.StatusInvalid {
		t.Errorf("the farm's certificates are %+v", v)
	}
	plain := farm.Farm{Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
	if v := h.FarmCertificates(&plain); v != nil {
		t.Errorf("a plain farm's certificates are %+v", v)
	}
}

func TestCertificateIsNamedByItsSubjectOrSAN(t *testing.T) {
	h := newHouse(t)
	end := now.AddDate(0, 0, -1)
	for want, change := range map[string]func(*x509.Certificate){
		"of Shop expired": func(c *x509.Certificate) {
			c.Subject, c.DNSNames = pkix.Name{CommonName: "Shop"}, []string{"a.example"}
		},
		"of a.example expired": func(c *x509.Certificate) { c.Subject, c.DNSNames = pkix.Name{}, []string{"a.example", "b.example"} },
		"of me@a.example expired": func(c *x509.Certificate) {
			c.Subject, c.DNSNames, c.EmailAddresses = pkix.Name{}, nil, []string{"me@a.example"}
		},
		"of spiffe://a/b expired": func(c *x509.Certificate) {
			c.Subject, c.DNSNames, c.URIs = pkix.Name{}, nil, []*url.URL{{Scheme: "spiffe", Host: "a", Path: "/b"}}
		},
		"of serial number ": func(c *x509.Certificate) { c.Subject, c.DNSNames = pkix.Name{}, nil },
		strings.Repeat("x", 60) + ".": func(c *x509.Certificate) {
			c.Subject, c.DNSNames = pkix.Name{}, []string{strings.Repeat(strings.Repeat("x", 60)+".", 3) + "example"}
		},
	} {
		leaf := h.root.Issue("shop.example", change, func(c *x509.Certificate) { c.NotBefore, c.NotAfter = end.AddDate(0, -1, 0), end })
		if _, err := certs.Parse([]byte(leaf.FullPEM()), now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestInvalidAPICertificateIsRefused(t *testing.T) {
	h := newHouse(t)
	own := h.root.Issue("lb.example").TLS()
	for _, c := range []tls.Certificate{{Certificate: own.Certificate, PrivateKey: publicOnly{}}, {Certificate: [][]byte{{1, 2}}, PrivateKey: own.PrivateKey}, {PrivateKey: own.PrivateKey}} {
		if err := h.SetAppliance(c); err == nil || !strings.HasPrefix(err.Error(), "the certificate of the API: ") || h.Exists(certs.ApplianceName) {
			t.Errorf("%v", err)
		}
	}
}

// A root that was recreated with the same key appears in the chain once.
func TestRecreatedRootAppearsOnce(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	mid := root.Intermediate("mid")
	again := root.IssueFor(root.Key, "root", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.DNSNames = true, true, x509.KeyUsageCertSign, nil
	})
	b, err := certs.Parse([]byte(mid.Issue("shop.example").FullPEM()+root.CertPEM()+again.CertPEM()), now)
	if err != nil || names(b) != "shop.example mid root" || len(b.Warnings) == 0 || !strings.Contains(b.Warnings[0], "was left out") {
		t.Errorf("%v: %+v", err, b)
	}
}

// failing is a store with one failing read or write.
type failing struct {
	*store.Store
	where string
}

var errBroken = errors.New("the disk broke")

func (f failing) fails(where string) error {
	if f.where == where {
		return errBroken
	}
	return nil
}

func (f failing) Certificates() ([]store.Certificate, error) { return nil, f.fails("certificates") }
func (f failing) Authorities() ([]store.Authority, error)    { return nil, f.fails("authorities") }
func (f failing) SetSetting(name, value string) error        { return f.fails(name) }

func TestAStoreThatFailsIsAnError(t *testing.T) {
	h := newHouse(t)
	for _, where := range []string{"certificates", "authorities"} {
		if b, err := certs.Open(failing{h.store, where}, certs.Options{Dir: h.dir}); !errors.Is(err, errBroken) || b != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	for _, where := range []string{"ocsp", "ocsp_private_responders"} {
		book, err := certs.Open(failing{h.store, where}, certs.Options{Dir: h.dir})
		h.must(err)
		if err := certs.NewManager(book, h.applier).SetOCSP(by, certs.OCSPSettings{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", where, err)
		}
	}
}
