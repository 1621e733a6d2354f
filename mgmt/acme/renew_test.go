package acme_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

const day = 24 * time.Hour

// ordered returns a house with a certificate that a farm uses.
func ordered(t *testing.T) (h *house, secure uint16) {
	h = newHouse(t, "0", "www.sluice.test")
	h.farm("web", h.port, nil)
	v, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}})
	h.must(err)
	secure = porttest.TCP(t).Port()
	h.farm("secure", secure, func(f *farm.Farm) {
		f.HTTP.TLS = farm.DefaultTLS()
		f.HTTP.TLS.Certificates = []string{v.Name}
	})
	return h, secure
}

func TestDailyCheckRenewsDueCertificates(t *testing.T) {
	h, secure := ordered(t)
	first := h.served(secure, "www.sluice.test")
	h.pass(59 * day)
	h.Look(t.Context())
	if h.served(secure, "www.sluice.test") != first {
		t.Fatal("it was renewed before it was due")
	}
	_, revision := h.applier.Current()
	h.pass(61 * day)
	h.Look(t.Context())
	if h.served(secure, "www.sluice.test") == first {
		t.Fatalf("it was not renewed\n%s", h.log)
	}
	h.restored()
	if _, now := h.applier.Current(); now.Number != revision.Number {
		t.Errorf("the renewal wrote a revision")
	}
	h.open() // it is still ours
	if list := h.List(); len(list) != 1 || list[0].Failure != "" || list[0].Tried.IsZero() {
		t.Errorf("listed are %+v", list)
	}
}

func TestFailedRenewalChangesNothing(t *testing.T) {
	h, secure := ordered(t)
	first := h.served(secure, "www.sluice.test")
	h.pass(61 * day)
	h.limit = time.Second
	h.open()
	h.ca.Hold(true)
	h.Look(t.Context())
	h.answered()
	if h.served(secure, "www.sluice.test") != first {
		t.Error("the certificate changed")
	}
	if len(h.told) != 1 || h.told[0].Name != "www.sluice.test.pem" || h.told[0].Reason == "" || h.told[0].Soon || h.told[0].NotAfter.IsZero() {
		t.Errorf("reported: %+v", h.told)
	}
	h.pass(62 * day)
	h.Look(t.Context()) // once
	h.pass(84 * day)
	h.Look(t.Context()) // and when expiry is near
	h.pass(85 * day)
	h.open() // the next process knows what was reported
	h.Look(t.Context())
	if len(h.told) != 2 || !h.told[1].Soon {
		t.Errorf("reported: %+v", h.told)
	}
	h.pass(61 * day)
	h.restored()
	v, err := h.Get("www.sluice.test")
	h.must(err)
	if v.Failure == "" || v.Tried.IsZero() {
		t.Errorf("got %+v", v)
	}
	h.ca.Hold(false)
	h.limit = 20 * time.Second
	h.open()
	h.Look(t.Context())
	if v, err = h.Get("www.sluice.test"); err != nil || v.Failure != "" || h.served(secure, "www.sluice.test") == first {
		t.Errorf("the next look: %+v, %v", v, err)
	}
}

func TestRenewActionNeedsADueCertificateOrForce(t *testing.T) {
	h, secure := ordered(t)
	first := h.served(secure, "www.sluice.test")
	_, err := h.Renew(t.Context(), by, "www.sluice.test", false, acme.Target{})
	h.wants(err, acme.Invalid, "not due")
	_, err = h.Renew(t.Context(), by, "none", false, acme.Target{})
	h.wants(err, acme.Missing, "does not exist")
	v, err := h.Renew(t.Context(), by, "www.sluice.test.pem", true, acme.Target{VIP: loopback})
	h.must(err)
	if v.Renewal.VIP != loopback || v.Renewal.Farm != "" {
		t.Errorf("it is to be renewed at %+v", v.Renewal.Target)
	}
	if h.served(secure, "www.sluice.test") == first {
		t.Error("the farm serves the old certificate")
	}
}

func TestDisabledAutorenewalRenewsNothing(t *testing.T) {
	h, secure := ordered(t)
	first := h.served(secure, "www.sluice.test")
	v, err := h.SetRenewal(by, "www.sluice.test", acme.Renewal{})
	h.must(err)
	if v.Renewal.Auto || v.Renewal.Farm != "web" {
		t.Errorf("got %+v", v.Renewal)
	}
	_, err = h.SetRenewal(by, "www.sluice.test", acme.Renewal{Auto: true, Target: acme.Target{Farm: "none"}})
	h.wants(err, acme.Missing, "none")
	h.pass(80 * day)
	h.Look(t.Context())
	if h.served(secure, "www.sluice.test") != first {
		t.Error("it was renewed")
	}
}

func TestManuallyReplacedCertificateIsNotRenewed(t *testing.T) {
	h, secure := ordered(t)
	own := certstest.NewAuthority(t, "own", time.Now()).Issue("www.sluice.test")
	_, _, err := h.certs.Upload(t.Context(), by, "www.sluice.test", []byte(own.FullPEM()), certs.Replace)
	h.must(err)
	serial := h.served(secure, "www.sluice.test")
	h.pass(80 * day)
	h.Look(t.Context())
	if h.served(secure, "www.sluice.test") != serial || len(h.List()) != 0 {
		t.Errorf("it was touched, or is listed")
	}
	_, err = h.Renew(t.Context(), by, "www.sluice.test", true, acme.Target{})
	h.wants(err, acme.Missing, "by hand")
}

func TestACertificateInUseIsNotDeleted(t *testing.T) {
	h, _ := ordered(t)
	if err := h.Delete(t.Context(), by, "www.sluice.test"); !errors.Is(err, certs.ErrInUse) {
		t.Fatalf("got %v", err)
	}
	_, err := h.applier.Change(t.Context(), by, "", 0, func(cfg *farm.Config) error { cfg.Farms = cfg.Farms[:1]; return nil })
	h.must(err)
	h.must(h.Delete(t.Context(), by, "www.sluice.test"))
	if len(h.List()) != 0 {
		t.Error("it is still listed")
	}
	h.wants(h.Delete(t.Context(), by, "www.sluice.test"), acme.Missing, "does not exist")
}
