package acme_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The authority's validation workers never end.
		goleak.IgnoreAnyFunction("github.com/letsencrypt/pebble/v2/va.VAImpl.processTasks"))
}

func TestOrderIsValidatedByAFarmAndStored(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test", "shop.sluice.test")
	h.farm("web", h.port, nil)
	v, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"WWW.sluice.test", "shop.sluice.test", "www.sluice.test"}, Target: acme.Target{Farm: "web"}})
	h.must(err)
	if v.Name != "www.sluice.test.pem" || strings.Join(v.Domains, " ") != "www.sluice.test shop.sluice.test" || !v.Renewal.Auto || v.Status != certs.StatusValid {
		t.Errorf("got %+v", v)
	}
	if left := time.Until(v.Due); left < 59*24*time.Hour || left > 61*24*time.Hour {
		t.Errorf("due at %s", v.Due)
	}
	h.restored()
	if code, _ := h.get(farm.ChallengePath + "x"); code != 503 {
		t.Errorf("after the order the farm answers %d, want 503", code)
	}
	if strings.Contains(h.log.String(), "PRIVATE KEY") {
		t.Error("the log has a private key")
	}
	h.farm("secure", porttest.TCP(t).Port(), func(f *farm.Farm) {
		f.HTTP.TLS = farm.DefaultTLS()
		f.HTTP.TLS.Certificates = []string{v.Name}
	})
	cfg, _ := h.applier.Current()
	h.served(cfg.Farm("secure").VPort, "shop.sluice.test")
}

func TestAnAddressWithoutAFarmGetsOneForTheOrder(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{VIP: loopback}})
	h.must(err)
	if !strings.Contains(strings.Join(h.seen, " "), acme.TemporaryFarm) {
		t.Errorf("published were %v", h.seen)
	}
	h.restored()
	cfg, rev := h.applier.Current()
	if len(cfg.Farms) != 0 || rev.Number > 1 {
		t.Errorf("the configuration has %d farms at revision %d", len(cfg.Farms), rev.Number)
	}
}

func TestAFarmThatListensAtTheAddressIsUsed(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.farm("web", h.port, nil)
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{VIP: loopback}})
	h.must(err)
	if strings.Contains(strings.Join(h.seen, " "), acme.TemporaryFarm) {
		t.Errorf("published were %v", h.seen)
	}
	h.restored()
}

func TestAnOrderSurvivesBadNonces(t *testing.T) {
	h := newHouse(t, "40", "www.sluice.test")
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{VIP: loopback}})
	h.must(err)
}

func TestAWrongDomainIsRefusedWithTheReasonOfTheAuthority(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.farm("web", h.port, nil)
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"nobody.sluice.test"}, Target: acme.Target{Farm: "web"}})
	h.wants(err, acme.Invalid, "nobody.sluice.test")
	h.restored()
	if list := h.List(); len(list) != 0 {
		t.Errorf("%d certificates are listed", len(list))
	}
}

func TestUnreachableAuthorityIsReported(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.ca.Close()
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{VIP: loopback}})
	h.wants(err, acme.Unreachable, "cannot be asked")
	h.restored()
}

func TestTimedOutOrderIsWithdrawn(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.limit = 2 * time.Second
	h.open()
	h.farm("web", h.port, nil)
	h.ca.Hold(true)
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}})
	h.wants(err, acme.Unreachable, "within 2s")
	h.answered()
	h.restored()
	h.ca.Hold(false)
	if _, err = h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}}); err != nil {
		t.Errorf("the next order: %v", err)
	}
}

func TestOrderIsWithdrawnIfItsAuthorLosesRights(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.farm("web", h.port, nil)
	turns := 0
	ctx := apply.WithAdmission(t.Context(), apply.Admission{
		Rights: func() any { return nil },
		Admit: func(*farm.Config, uint64) error {
			if turns++; turns > 1 { // after the publication of the challenges
				return errors.New("you may not")
			}
			return nil
		},
	})
	request := acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}}
	_, _ = h.Order(ctx, by, request)
	h.answered()
	h.restored()
}

func TestOneOrderAtATime(t *testing.T) {
	h := newHouse(t, "0", "www.sluice.test")
	h.farm("web", h.port, nil)
	h.ca.Hold(true)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := h.Order(ctx, by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}})
		first <- err
	}()
	for h.ca.Asked("chalZ") == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{Farm: "web"}})
	h.wants(err, acme.Busy, "another")
	cancel()
	h.wants(<-first, acme.Unreachable, "given up")
	h.answered()
	h.restored()
}

func TestInvalidOrdersDoNotReachTheAuthority(t *testing.T) {
	h := newHouse(t, "0")
	h.farm("web", h.port, nil)
	h.farm("other", porttest.TCP(t).Port(), nil)
	h.farm("relay", 0, func(f *farm.Farm) {
		f.Profile, f.VIP, f.HTTP, f.L4 = farm.ProfileL4, netip.MustParseAddr("127.0.0.2"), nil, farm.DefaultL4()
		f.L4.Ports = []farm.PortRange{{First: h.port, Last: h.port}}
	})
	h.farm("off", porttest.TCP(t).Port(), func(f *farm.Farm) { f.Stopped = true })
	_, _, err := h.certs.Upload(t.Context(), by, "own", []byte(certstest.NewAuthority(t, "own", time.Now()).Issue("a.sluice.test").FullPEM()), certs.Create)
	h.must(err)
	h.farm("secure", h.port, func(f *farm.Farm) {
		f.VIP, f.HTTP.TLS = netip.MustParseAddr("127.0.0.3"), farm.DefaultTLS()
		f.HTTP.TLS.Certificates = []string{"own.pem"}
	})
	web := acme.Target{Farm: "web"}
	for _, c := range []struct {
		domains []string
		at      acme.Target
		kind    acme.Kind
		part    string
	}{
		{nil, web, acme.Invalid, "domains"},
		{[]string{"*.sluice.test"}, web, acme.Invalid, "wildcard"},
		{[]string{"a.sluice.test", "127.0.0.1"}, web, acme.Invalid, "no host name"},
		{[]string{"localhost"}, web, acme.Invalid, "no host name"},
		{[]string{"a_b.test"}, web, acme.Invalid, "no host name"},
		{[]string{"a.sluice.test"}, acme.Target{}, acme.Invalid, "vip or farmname"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "web", VIP: loopback}, acme.Invalid, "not both"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "none"}, acme.Missing, "does not exist"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "other"}, acme.Missing, "listens on port"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "relay"}, acme.Missing, "passes connections on"},
		{[]string{"a.sluice.test"}, acme.Target{VIP: netip.MustParseAddr("127.0.0.2")}, acme.Missing, "passes connections on"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "off"}, acme.Missing, "is stopped"},
		{[]string{"a.sluice.test"}, acme.Target{Farm: "secure"}, acme.Missing, "speaks TLS on port"},
		{[]string{"a.sluice.test"}, acme.Target{VIP: netip.MustParseAddr("0.0.0.0")}, acme.Invalid, "no address a farm could be made for"},
		{[]string{"a.sluice.test"}, acme.Target{VIP: netip.MustParseAddr("ff02::1")}, acme.Invalid, "no address a farm could be made for"},
		{[]string{"a.sluice.test"}, acme.Target{VIP: netip.MustParseAddr("fe80::1%eth0")}, acme.Invalid, "no address a farm could be made for"},
	} {
		_, err := h.Order(t.Context(), by, acme.Request{Domains: c.domains, Target: c.at})
		h.wants(err, c.kind, c.part)
	}
	if n := h.ca.Asked("dir"); n != 0 {
		t.Errorf("%d requests to the authority", n)
	}
}

func TestOrdersNeedAnEmailAddress(t *testing.T) {
	h := newHouse(t, "0")
	h.must(h.store.SetSetting("acme.settings", "{}"))
	_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{"www.sluice.test"}, Target: acme.Target{VIP: loopback}})
	h.wants(err, acme.Invalid, "email")
	for _, bad := range []acme.Settings{{}, {Email: "a"}, {Email: "a@b.c,d@e.f"}, {Email: "a@b.test?x"}, {Email: "a@b.test", Directory: "http://a.test/"},
		{Email: "a@b.test", Staging: "https://u:p@a.test"}, {Email: "a@b.test", CA: "none"}} {
		if h.SetSettings(by, bad) == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
	h.must(h.SetSettings(by, acme.Settings{Email: "a@b.test"}))
	if s := h.Settings(); s.Directory != acme.LetsEncrypt || s.Staging != acme.LetsEncryptStaging {
		t.Errorf("got %+v", s)
	}
}

func TestTheAccountIsKeptSealedAndUsedAgain(t *testing.T) {
	h := newHouse(t, "0", "a.sluice.test", "b.sluice.test", "c.sluice.test")
	order := func(domain string) {
		t.Helper()
		_, err := h.Order(t.Context(), by, acme.Request{Domains: []string{domain}, Target: acme.Target{VIP: loopback}})
		h.must(err)
	}
	order("a.sluice.test")
	changes := h.ca.Asked("my-account")
	h.open()
	order("b.sluice.test")
	if n := h.ca.Asked("my-account"); n != changes {
		t.Errorf("the account was changed %d times for the same address", n-changes)
	}
	s := h.Settings()
	s.Email = "new@sluice.test"
	h.must(h.SetSettings(by, s))
	order("c.sluice.test")
	if n := h.ca.Asked("my-account"); n != changes+1 {
		t.Errorf("the account was changed %d times for a new address, want 1", n-changes)
	}
	for _, content := range []string{h.log.String(), h.account()} {
		if strings.Contains(content, "PRIVATE") || h.holdsKey(content) {
			t.Error("a private key can be read")
		}
	}
	if n := len(h.List()); n != 3 {
		t.Errorf("%d certificates are listed, want 3", n)
	}
}
