package activation_test

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/activation"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

type papers struct {
	doc  string
	fail error
}

func (p *papers) ReadDocument(_ string, into any) (bool, error) {
	if p.doc == "" {
		return false, p.fail
	}
	return true, errors.Join(p.fail, json.Unmarshal([]byte(p.doc), into))
}

func (p *papers) WriteDocument(_ string, value any) error {
	b, _ := json.Marshal(value)
	if p.fail == nil {
		p.doc = string(b)
	}
	return p.fail
}

func nothing() error { return nil }

func TestCertificateIsStoredWithItsExpiry(t *testing.T) {
	now := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	ca := certstest.NewAuthority(t, "vendor", now)
	leaf := ca.Issue("lb1.example.com", func(c *x509.Certificate) {
		c.Subject.CommonName, c.Subject.OrganizationalUnit = "lb1.example.com", []string{"temporal\n"}
		c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(100*24*time.Hour)
	})
	k := &activation.Keeper{Store: &papers{}, Now: func() time.Time { return now }}
	if _, err := k.Get(); !errors.Is(err, activation.ErrNone) {
		t.Errorf("before: %v", err)
	}
	if err := k.Delete(nothing); !errors.Is(err, activation.ErrNone) {
		t.Errorf("before: %v", err)
	}
	if _, err := k.Put([]byte(leaf.ChainPEM()), nothing); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at     time.Duration
		days   int
		status activation.Status
		notice string
	}{
		{-2 * time.Hour, 100, activation.NotYet, "not valid before 2026-11-24"},
		{0, 100, activation.Valid, ""},
		{85*24*time.Hour - 1, 15, activation.Valid, ""},
		{85 * 24 * time.Hour, 15, activation.AboutToExpire, "expires on 2027-03-04"},
		{100*24*time.Hour - 1, 0, activation.AboutToExpire, "expires on"},
		{100 * 24 * time.Hour, -1, activation.Expired, "Nothing of this appliance depends on it"},
		{103 * 24 * time.Hour, -3, activation.Expired, "expired on 2027-03-04"},
	} {
		k.Now = func() time.Time { return now.Add(c.at) }
		i, err := k.Get()
		if err != nil || i.DaysLeft != c.days || i.Status != c.status || !strings.Contains(i.Notice, c.notice) || (c.notice == "") != (i.Notice == "") {
			t.Errorf("at %s: %+v, %v", c.at, i, err)
		}
		if i.Hostname != "lb1.example.com" || i.Type != "temporal?" || !strings.Contains(i.Issuer, "vendor") || string(i.PEM) != leaf.ChainPEM() {
			t.Errorf("%+v", i)
		}
	}
	if err := k.Delete(nothing); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Get(); !errors.Is(err, activation.ErrNone) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestInvalidCertificatesAreRefused(t *testing.T) {
	p := &papers{}
	k := &activation.Keeper{Store: p}
	leaf := certstest.NewAuthority(t, "vendor", time.Now()).Issue("lb1")
	for want, raw := range map[string]string{
		"no certificate in PEM": "hello", "no certificate in": "", "more than 65536": strings.Repeat("x", activation.MaxSize+1),
		"it holds a PRIVATE KEY": leaf.FullPEM(), "cannot be read": certstest.PEM("CERTIFICATE", []byte("x")),
	} {
		if _, err := k.Put([]byte(raw), nothing); !errors.Is(err, activation.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	tried := errors.New("only tried")
	if _, err := k.Put([]byte(leaf.CertPEM()), func() error { return tried }); !errors.Is(err, tried) || p.doc != "" {
		t.Errorf("%v", err)
	}
	if i, err := k.Put([]byte(leaf.CertPEM()), nothing); err != nil || i.Type != "unknown" {
		t.Fatalf("%+v, %v", i, err)
	}
	if err := k.Delete(func() error { return tried }); !errors.Is(err, tried) {
		t.Error(err)
	}
	before := p.doc
	p.fail = errors.New("disk full")
	for _, err := range []error{k.Delete(nothing), second(k.Put([]byte(leaf.CertPEM()), nothing)), second(k.Get())} {
		if !errors.Is(err, p.fail) {
			t.Error(err)
		}
	}
	if p.doc != before {
		t.Error("it changed")
	}
}

func second(_ activation.Info, err error) error { return err }

func FuzzPut(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		k := &activation.Keeper{Store: &papers{}}
		if i, err := k.Put(raw, nothing); err == nil && strings.ContainsAny(i.Hostname+i.Type+i.Issuer, "\n\x1b") {
			t.Errorf("%+v", i)
		}
	})
}
