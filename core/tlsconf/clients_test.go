package tlsconf_test

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// person returns a client that sends a certificate chain.
func person(key crypto.Signer, chain ...[]byte) *tls.Config {
	c := anyone("www.example.com")
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &tls.Certificate{Certificate: chain, PrivateKey: key}, nil
	}
	return c
}

// asking returns a farm that requests client certificates of the given authority.
func asking(t testing.TB, mode farm.ClientAuth, a farm.Authority) (*farm.Config, *farm.TLS) {
	cfg, l := simple(t)
	a.Name = "clients"
	cfg.Authorities = []farm.Authority{a}
	l.Clients, l.ClientCA = mode, "clients"
	return cfg, l
}

// inBoth runs a test with TLS 1.2 and 1.3, in which clients learn of a rejection at
// different points.
func inBoth(t *testing.T, f func(t *testing.T, version uint16)) {
	for name, version := range map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) { f(t, version) })
	}
}

func TestClientCertificatesAreRequestedAndVerified(t *testing.T) {
	good, other := newCA(t, "good"), newCA(t, "good") // same name, different key
	key := p256()
	mine, foreign := good.sign(key.Public()), other.sign(key.Public())
	late := good.sign(key.Public(), ended)
	serverOnly := good.sign(key.Public(), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })
	inter := good.below("inter")
	deep := inter.sign(key.Public())
	inBoth(t, func(t *testing.T, version uint16) {
		for _, c := range []struct {
			what                    string
			client                  *tls.Config
			off, optional, required bool
		}{
			{"none", anyone("www.example.com"), true, true, false},
			{"a good one", person(key, mine), true, true, true},
			{"a good one behind an intermediate", person(key, deep, inter.cert.Raw), true, true, true},
			{"without its intermediate", person(key, deep), true, false, false},
			{"of another authority", person(key, foreign), true, false, false},
			{"expired", person(key, late), true, false, false},
			{"for servers", person(key, serverOnly), true, false, false},
			{"without its key", person(p256(), mine), true, false, false},
		} {
			for mode, want := range map[farm.ClientAuth]bool{farm.ClientAuthOff: c.off, farm.ClientAuthOptional: c.optional, farm.ClientAuthRequired: c.required} {
				cfg, l := asking(t, mode, good.authority(""))
				c.client.MinVersion, c.client.MaxVersion = version, version
				o := shake(t, listen(t, cfg, l), c.client)
				if (o.srvErr == nil) != want {
					t.Errorf("%s, %q: %v", c.what, mode, o.srvErr)
				}
				if shown := len(o.server.VerifiedChains) > 0; want && shown != (mode != "" && c.what != "none") {
					t.Errorf("%s, %q: %d verified chains", c.what, mode, len(o.server.VerifiedChains))
				}
			}
		}
	})
}

func TestRevokedClientsAreRefused(t *testing.T) {
	root := newCA(t, "root")
	key := p256()
	good, bad := root.sign(key.Public()), root.sign(key.Public())
	inter := root.below("inter")
	deep, deepBad := inter.sign(key.Public()), inter.sign(key.Public())
	lost := root.below("lost")
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Minute)
	rootCRL, interCRL := root.crl(soon, bad, lost.cert.Raw), inter.crl(soon, deepBad)
	both := func(crls ...[]byte) farm.Authority {
		return farm.Authority{Certificates: [][]byte{root.cert.Raw, inter.cert.Raw}, Revoked: crls}
	}
	for _, c := range []struct {
		what string
		a    farm.Authority
		show [][]byte
		want error
	}{
		{"not revoked", root.authority("", rootCRL), [][]byte{good}, nil},
		{"revoked", root.authority("", rootCRL), [][]byte{bad}, tlsconf.ErrRevoked},
		{"no CRLs at all", root.authority(""), [][]byte{bad}, nil},
		{"an empty CRL", root.authority("", root.crl(soon)), [][]byte{bad}, nil},
		{"expired CRL", root.authority("", root.crl(past, bad)), [][]byte{good}, tlsconf.ErrCRLExpired},
		{"CRL of the future", root.authority("", root.crlFrom(soon, soon.Add(time.Hour), nil)), [][]byte{good}, tlsconf.ErrCRLExpired},
		{"the newest of several counts", root.authority("", root.crlFrom(time.Now().Add(-2*time.Hour), past, nil), rootCRL), [][]byte{good}, nil},
		{"the newest of several counts, whatever the order", root.authority("", rootCRL, root.crlFrom(time.Now().Add(-2*time.Hour), soon, nil)), [][]byte{bad}, tlsconf.ErrRevoked},
		{"intermediate without a CRL", root.authority("", rootCRL), [][]byte{deep, inter.cert.Raw}, tlsconf.ErrCRLMissing},
		{"both with a CRL", both(rootCRL, interCRL), [][]byte{deep, inter.cert.Raw}, nil},
		{"revoked below the intermediate", both(rootCRL, interCRL), [][]byte{deepBad, inter.cert.Raw}, tlsconf.ErrRevoked},
		{"intermediate is revoked", root.authority("", rootCRL), [][]byte{lost.sign(key.Public()), lost.cert.Raw}, tlsconf.ErrCRLMissing},
		{"intermediate in the authority is revoked", farm.Authority{Certificates: [][]byte{root.cert.Raw, lost.cert.Raw}, Revoked: [][]byte{rootCRL, lost.crl(soon)}},
			[][]byte{lost.sign(key.Public()), lost.cert.Raw}, tlsconf.ErrRevoked},
		{"only the intermediate is trusted", farm.Authority{Certificates: [][]byte{inter.cert.Raw}, Revoked: [][]byte{interCRL}}, [][]byte{deep}, nil},
	} {
		inBoth(t, func(t *testing.T, version uint16) {
			cfg, l := asking(t, farm.ClientAuthOptional, c.a)
			client := person(key, c.show...)
			client.MinVersion, client.MaxVersion = version, version
			if o := shake(t, listen(t, cfg, l), client); !errors.Is(o.srvErr, c.want) {
				t.Errorf("%s: %v, want %v", c.what, o.srvErr, c.want)
			}
		})
	}
}

func TestEveryRevokedCertificateIsFound(t *testing.T) {
	root, key := newCA(t, "root"), p256()
	var revoked [][]byte
	for range 50 {
		revoked = append(revoked, root.sign(key.Public()))
	}
	good := root.sign(key.Public())
	slices.Reverse(revoked[:25])
	a := root.authority("", root.crl(time.Now().Add(time.Hour), revoked...))
	for _, der := range revoked {
		if err := tlsconf.Revoked(&a, der); !errors.Is(err, tlsconf.ErrRevoked) {
			t.Errorf("%v", err)
		}
	}
	if err := tlsconf.Revoked(&a, good); err != nil {
		t.Errorf("%v", err)
	}
	if err := tlsconf.Revoked(&a, nil); err == nil {
		t.Error("an unverified certificate passes")
	}
}

// After a CRL expires at run time, clients are rejected, including resumed sessions.
func TestACRLEndsWhileRunning(t *testing.T) {
	root, key, now := newCA(t, "root"), p256(), newClock()
	cfg, l := asking(t, farm.ClientAuthRequired, root.authority("", root.crl(now.now().Add(time.Hour))))
	server := publish(t, tlsconf.NewStore(tlsconf.Options{Now: now.now}), cfg, 1, l)
	client := person(key, root.sign(key.Public()))
	client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
	for _, resumed := range []bool{false, true} {
		if o := shake(t, server, client); o.failed() || o.server.DidResume != resumed {
			t.Fatalf("resumed %v: %v, %v", o.server.DidResume, o.srvErr, o.clientErr)
		}
	}
	now.advance(2 * time.Hour)
	if o := shake(t, server, client); !errors.Is(o.srvErr, tlsconf.ErrCRLExpired) {
		t.Errorf("resumed %v: %v", o.server.DidResume, o.srvErr)
	}
}

func TestAuthoritiesThatCannotVerifyAreRefused(t *testing.T) {
	root, other := newCA(t, "root"), newCA(t, "root")
	noCRL := newCA(t, "no CRL", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageCertSign })
	critical := func(oid ...int) []pkix.Extension {
		return []pkix.Extension{{Id: asn1.ObjectIdentifier(oid), Critical: true, Value: []byte{0x30, 0}}}
	}
	soon := time.Now().Add(time.Hour)
	puzzle := newCA(t, "puzzle", func(c *x509.Certificate) { c.ExcludedDNSDomains = indexed("n%d.example", 1001) })
	odd := newCA(t, "odd", func(c *x509.Certificate) { c.ExtraExtensions = critical(1, 2, 3, 4) })
	many := farm.Authority{}
	for range tlsconf.MaxAuthorityCertificates + 1 {
		many.Certificates = append(many.Certificates, root.cert.Raw)
	}
	long := farm.Authority{}
	for i := range 200 {
		long.Certificates = append(long.Certificates, newCA(t, strings.Repeat("x", 400)+string(rune('a'+i%26))).cert.Raw)
	}
	for _, c := range []struct {
		what string
		a    farm.Authority
		say  string
	}{
		{"empty", farm.Authority{}, "no certificate"},
		{"unreadable", farm.Authority{Certificates: [][]byte{root.cert.Raw, []byte("junk")}}, "certificate 1: it cannot be read"},
		{"huge", farm.Authority{Certificates: [][]byte{make([]byte, 70000)}}, "70000 bytes"},
		{"too many", many, "1001 certificates"},
		{"names too long", long, "names of its certificates"},
		{"constraints", puzzle.authority(""), "1001 name constraints"},
		{"critical extension", odd.authority(""), "1.2.3.4"},
		{"huge RSA key", farm.Authority{Certificates: [][]byte{root.sign(hugeRSA(16384))}}, "16384 bits"},
		{"CRL unreadable", root.authority("", []byte("junk")), "CRL 0: it cannot be read"},
		{"CRL of nobody", root.authority("", newCA(t, "stranger").crl(soon)), "none of the certificates is its issuer"},
		{"CRL forged", root.authority("", other.crl(soon)), "did not sign"},
		{"CRL by who may not", noCRLAuthority(noCRL, soon), "did not sign"},
		{"delta CRL", root.authority("", root.crlFrom(time.Now(), soon, critical(2, 5, 29, 27))), "2.5.29.27"},
		{"partitioned CRL", root.authority("", root.crlFrom(time.Now(), soon, critical(2, 5, 29, 28))), "2.5.29.28"},
		{"CRLs too long", root.authority("", make([]byte, tlsconf.MaxCRLBytes+1)), "CRLs have"},
		{"CRLs just short enough, of nothing", root.authority("", make([]byte, tlsconf.MaxCRLBytes)), "CRL 0: it cannot be read"},
	} {
		if _, err := tlsconf.CheckAuthority(&c.a); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.what, err, c.say)
		}
	}
}

// noCRLAuthority returns an authority with a CRL whose signing certificate does not
// allow CRL signatures.
func noCRLAuthority(c *ca, until time.Time) farm.Authority {
	allowed := *c.cert
	allowed.KeyUsage |= x509.KeyUsageCRLSign
	forger := &ca{c.t, &allowed, c.key}
	return c.authority("", forger.crl(until))
}

// A list crafted to be expensive is rejected after a few thousand signature checks.
func TestExpensiveAuthorityListIsRefused(t *testing.T) {
	a := farm.Authority{}
	top := newCA(t, "top")
	for range 100 {
		a.Certificates = append(a.Certificates, newCA(t, "top").cert.Raw)
	}
	for range 100 {
		a.Certificates = append(a.Certificates, top.below("middle").cert.Raw)
	}
	a.Certificates = append(a.Certificates, top.cert.Raw)
	a.Revoked = [][]byte{top.crl(time.Now().Add(time.Hour))}
	if _, err := tlsconf.CheckAuthority(&a); err == nil || !strings.Contains(err.Error(), "signatures") {
		t.Errorf("%v", err)
	}
	a.Revoked = nil
	if _, err := tlsconf.CheckAuthority(&a); err != nil {
		t.Errorf("without CRLs the check must pass: %v", err)
	}
}

func TestAuthorityInfoDescribesItsContents(t *testing.T) {
	root, other := newCA(t, "root"), newCA(t, "other", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Minute) })
	leaf := root.sign(p256().Public())
	until := time.Now().Add(time.Hour).Truncate(time.Second)
	info, err := tlsconf.CheckAuthority(&farm.Authority{Certificates: [][]byte{root.cert.Raw, other.cert.Raw}, Revoked: [][]byte{root.crl(until, leaf, other.cert.Raw)}})
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Subjects) != 2 || info.Subjects[0] != "CN=root" || info.Revoked != 2 || !info.NextUpdate.Equal(until) || !info.NotAfter.Equal(other.cert.NotAfter) {
		t.Errorf("%+v", info)
	}
	if w := info.Warnings(time.Now()); len(w) != 0 {
		t.Errorf("%q", w)
	}
	if w := info.Warnings(until.Add(time.Minute)); len(w) != 2 || !strings.Contains(w[0], "expired") || !strings.Contains(w[1], "CRL") {
		t.Errorf("%q", w)
	}
}
