package acme

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// A mistake of the authority must not replace a working certificate.
func TestOnlyACertificateForAllDomainsIsAccepted(t *testing.T) {
	root := certstest.NewAuthority(t, "root", noon)
	leaf := root.Issue("a.test", func(c *x509.Certificate) { c.DNSNames = []string{"a.test", "b.test"} })
	for what, c := range map[string]struct {
		chain, says string
		domains     []string
	}{
		"right":      {leaf.FullPEM(), "", []string{"a.test", "b.test"}},
		"no PEM":     {"sorry", "no certificate", nil},
		"a key":      {leaf.KeyPEM(), "no certificate", nil},
		"damaged":    {certstest.PEM("CERTIFICATE", leaf.Cert.Raw[1:]), "cannot be read", nil},
		"for others": {leaf.FullPEM(), "is not for c.test", []string{"a.test", "c.test"}},
	} {
		got, err := checkLeaf([]byte(c.chain), c.domains)
		if c.says != "" {
			wants(t, err, Invalid, c.says)
		} else if err != nil || got != sum(leaf.Cert.Raw) {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	bundle, err := withKey([]byte("CHAIN"), leaf.TLS().PrivateKey.(*ecdsa.PrivateKey))
	block, rest := pem.Decode(bundle)
	if err != nil || !strings.HasPrefix(string(bundle), "CHAIN\n-----BEGIN PRIVATE KEY") || string(block.Bytes) != string(leaf.KeyDER()) || len(rest) != 0 {
		t.Errorf("%v\n%s", err, bundle)
	}
}

func TestChallengesAreServedDuringTheOrder(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.1:80")
	m, f := newFakes(func(f *fakes, _ *Options) {
		f.cfg.Farms = []farm.Farm{{ID: 4, VIP: at.Addr(), VPort: 80, Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}, {ID: farm.MaxFarmID, VIP: at.Addr(), VPort: 81, Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}}
	})
	r := m.options.Responder
	for what, c := range map[string]struct {
		endpoint endpoint
		stopped  bool
		where    string
		reached  uint32
		farms    int
	}{
		"a farm":              {endpoint{farm: 4}, false, "the farm", 4, 2},
		"an address":          {endpoint{at: at}, false, "192.0.2.1:80", 4, 2},
		"a farm that stopped": {endpoint{at: at}, true, "192.0.2.1:80", farm.MaxFarmID - 1, 3},
		"another address":     {endpoint{at: netip.MustParseAddrPort("192.0.2.2:80")}, false, "192.0.2.2:80", farm.MaxFarmID - 1, 3},
	} {
		f.cfg.Farms[0].Stopped, f.refuse = c.stopped, nil
		s := &httpSolver{m: m, endpoint: c.endpoint}
		for _, token := range []string{"", "a/b", strings.Repeat("x", 257)} {
			wants(t, s.Present(t.Context(), acme.Challenge{Token: token, KeyAuthorization: "k"}), Invalid, "a token that is none")
		}
		wants(t, s.Present(t.Context(), acme.Challenge{Token: "t", KeyAuthorization: strings.Repeat("x", 1025)}), Invalid, "a token that is none")
		for token, answer := range map[string]string{"t": "k", strings.Repeat("x", 256): strings.Repeat("x", 1024)} {
			if err := s.Present(t.Context(), acme.Challenge{Token: token, KeyAuthorization: answer}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		if out := r.Complete(&f.cfg); out != &f.cfg {
			t.Errorf("%s: answers exist before the challenge starts", what)
		}
		f.refuse = errors.New("busy\n")
		wants(t, s.Wait(t.Context(), acme.Challenge{}), Missing, "the authority cannot be answered at "+c.where+": busy·")
		if out := r.Complete(&f.cfg); out != &f.cfg {
			t.Errorf("%s: answers exist although nothing was published", what)
		}
		f.refuse = nil
		if err := s.Wait(t.Context(), acme.Challenge{}); err != nil || !slices.Equal(f.farms, []uint32{c.reached}) {
			t.Errorf("%s: %v, farms %v", what, err, f.farms)
		}
		out := r.Complete(&f.cfg)
		if len(out.Challenges) != 2 || len(out.Farms) != c.farms || len(f.cfg.Challenges) != 0 || len(f.cfg.Farms) != 2 {
			t.Errorf("%s: published are %d answers, %d farms", what, len(out.Challenges), len(out.Farms))
		}
		if last := out.Farms[len(out.Farms)-1]; c.farms == 3 && (last.ID != c.reached || last.Name != TemporaryFarm || last.AddrPort() != c.endpoint.at || last.Profile != farm.ProfileHTTP) {
			t.Errorf("%s: the farm of the order is %+v", what, last)
		}
		f.farms = nil
		if err := s.Wait(t.Context(), acme.Challenge{}); err != nil || f.farms != nil {
			t.Errorf("%s: published a second time: %v", what, err)
		}
		f.refuse = errors.New("gone")
		s.clear(t.Context())
		if r.Complete(&f.cfg) != &f.cfg || !strings.Contains(f.log.String(), "stay with the engine until the next change") {
			t.Errorf("%s: answers are left after the order:\n%s", what, &f.log)
		}
	}
}

func TestWildcardFarmCoversItsAddresses(t *testing.T) {
	for vip, want := range map[string][2]bool{ // 192.0.2.1, 2001:db8::1
		"192.0.2.1": {true, false}, "192.0.2.2": {false, false}, "0.0.0.0": {true, false}, "2001:db8::1": {false, true}, "::": {true, true},
	} {
		cfg := &farm.Config{Farms: []farm.Farm{{ID: 1, VIP: netip.MustParseAddr(vip), VPort: 80, Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}}}
		for i, at := range []string{"192.0.2.1", "2001:db8::1"} {
			if got := listening(cfg, netip.AddrPortFrom(netip.MustParseAddr(at), 80)) != nil; got != want[i] {
				t.Errorf("a farm at %s listens at %s: got %t, want %t", vip, at, got, want[i])
			}
			if listening(cfg, netip.AddrPortFrom(netip.MustParseAddr(at), 81)) != nil {
				t.Errorf("a farm at %s listens at another port", vip)
			}
		}
	}
}

func TestOnlyDomainsThatWereOrderedReachTheHook(t *testing.T) {
	folder := t.TempDir()
	m, f := newFakes(nil)
	s := &dnsSolver{m: m, hook: recordHook{Program: hook.Program{Folder: folder, Name: "dns.sh"}}}
	wants(t, s.Present(t.Context(), acme.Challenge{Identifier: acme.Identifier{Value: "$(id)"}}), Invalid, "which was not ordered")
	if len(s.records) != 0 {
		t.Errorf("the hook is told to remove %v", s.records)
	}
	wants(t, s.Present(t.Context(), acme.Challenge{Identifier: acme.Identifier{Value: "a.test"}}), Invalid, "does not exist")
	s.clear(t.Context())
	if !strings.Contains(f.log.String(), `msg="a record of an order was not taken away" record=_acme-challenge.a.test`) {
		t.Errorf("log:\n%s", &f.log)
	}
}

// An order that is bound to fail is rejected before contacting the authority.
func TestUnstorableOrderIsNotPlaced(t *testing.T) {
	m, f := newFakes(nil)
	f.views["a.test.pem"] = certs.View{Name: "a.test.pem"}
	_, err := m.Order(t.Context(), apply.Author{}, Request{Domains: []string{"a.test"}, Challenge: DNS01})
	wants(t, err, Invalid, "a certificate a.test.pem exists already")
	f.cfg.Farms = []farm.Farm{{ID: 7, Name: "web", VIP: netip.IPv6Loopback(), VPort: 80, Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}}
	f.problems = map[uint32]string{7: "the port is taken"}
	_, err = m.endpoint(Target{Farm: "web"})
	wants(t, err, Missing, "the farm web does not run: the port is taken")
	m.records["a.test.pem"] = record{Domains: []string{"a.test"}, Challenge: DNS01, Leaves: []string{""}}
	at := Target{Farm: "web"}
	_, err = m.Renew(context.Background(), apply.Author{}, "a.test", true, at)
	wants(t, err, Invalid, "vip and farmname are for the challenge http-01")
	_, err = m.SetRenewal(apply.Author{}, "a.test", Renewal{Target: at})
	wants(t, err, Invalid, "vip and farmname are for the challenge http-01")
	_, err = m.SetRenewal(apply.Author{}, "none", Renewal{})
	wants(t, err, Missing, "does not exist")
	if v, err := m.SetRenewal(apply.Author{}, "a.test", Renewal{Force: true}); err != nil || !v.Renewal.Force {
		t.Errorf("%+v, %v", v, err)
	}
	f.full = errors.New("the disk is full")
	if _, err := m.SetRenewal(apply.Author{}, "a.test", Renewal{}); !errors.Is(err, f.full) {
		t.Errorf("no room: %v", err)
	}
}
