package tlsconf_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// answer returns an OCSP response for a certificate.
func (c *ca) answer(der []byte, status int, from, until time.Time) []byte {
	c.t.Helper()
	response := ocsp.Response{Status: status, SerialNumber: must(x509.ParseCertificate(der)).SerialNumber, ThisUpdate: from, NextUpdate: until, RevokedAt: from}
	out, err := ocsp.CreateResponse(c.cert, c.cert, response, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

func TestStaplesAreSentWhileValid(t *testing.T) {
	root, now := newCA(t, "root"), newClock()
	cert := root.issue("a", p256(), dns("a.example"))
	leaf := cert.Chain[0]
	began := now.now().Add(-time.Hour)
	staple := root.answer(leaf, ocsp.Good, began, now.now().Add(time.Hour))
	for _, c := range []struct {
		what   string
		staple []byte
		wait   time.Duration
		shown  bool
		say    string
	}{
		{"in force", staple, 0, true, ""},
		{"in force to its end", staple, 59 * time.Minute, true, ""},
		{"over while it is served", staple, time.Hour + time.Second, false, ""},
		{"expired", root.answer(leaf, ocsp.Good, began, now.now().Add(-time.Minute)), 0, false, ""},
		{"of the future", root.answer(leaf, ocsp.Good, now.now().Add(time.Minute), now.now().Add(time.Hour)), 0, false, ""},
		{"without an end", root.answer(leaf, ocsp.Good, began, time.Time{}), 0, false, "how long"},
		{"revoked", root.answer(leaf, ocsp.Revoked, began, now.now().Add(time.Hour)), 0, false, "good"},
		{"unknown", root.answer(leaf, ocsp.Unknown, began, now.now().Add(time.Hour)), 0, false, "good"},
		{"of another certificate", root.answer(root.cert.Raw, ocsp.Good, began, now.now().Add(time.Hour)), 0, false, "another"},
		{"an error", []byte{0x30, 0x03, 0x0a, 0x01, 0x06}, 0, false, "status 6"},
		{"junk", []byte("junk"), 0, false, "cannot be read"},
		{"with a tail", append(staple[:len(staple):len(staple)], 0), 0, false, "follow"},
		{"huge", make([]byte, 20000), 0, false, "20000 bytes"},
		{"none", nil, 0, false, ""},
	} {
		at := newClock()
		cert.Staple = c.staple
		cfg := &farm.Config{Certificates: []farm.Certificate{cert}}
		b := tlsconf.NewStore(tlsconf.Options{Now: at.now}).Begin(cfg)
		server, err := b.Listener(1, all(cfg))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if said := strings.Join(b.Warnings(), "\n"); (c.say == "") != (said == "") || !strings.Contains(said, c.say) {
			t.Errorf("%s: %q, want %q", c.what, said, c.say)
		}
		at.advance(c.wait)
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			client := anyone("a.example")
			client.MinVersion, client.MaxVersion = version, version
			o := shake(t, server, client)
			if o.failed() || bytes.Equal(o.client.OCSPResponse, c.staple) != (c.shown || c.staple == nil) || len(o.client.OCSPResponse) > 0 != c.shown {
				t.Errorf("%s, version %#x: %d bytes stapled, %v", c.what, version, len(o.client.OCSPResponse), o.clientErr)
			}
		}
	}
}

func TestMustStapleWithoutAStapleIsReported(t *testing.T) {
	root := newCA(t, "root")
	feature := func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 1, 24}, Value: []byte{0x30, 0x03, 0x02, 0x01, 0x05}}}
	}
	cfg := &farm.Config{Certificates: []farm.Certificate{root.issue("a", p256(), dns("a.example"), feature)}}
	b := tlsconf.NewStore(tlsconf.Options{}).Begin(cfg)
	if _, err := b.Listener(1, all(cfg)); err != nil {
		t.Fatal(err)
	}
	if w := b.Warnings(); len(w) != 1 || !strings.Contains(w[0], "staple") {
		t.Errorf("%q", w)
	}
	if info := must(tlsconf.Inspect(cfg.Certificates[0].Chain)); !info.MustStaple {
		t.Error("MustStaple is false")
	}
}

// parseStaple agrees with x/crypto/ocsp.
func FuzzStaple(f *testing.F) {
	root := newCA(f, "root")
	leaf := root.sign(p256().Public())
	now := time.Now()
	f.Add(root.answer(leaf, ocsp.Good, now, now.Add(time.Hour)))
	f.Add(root.answer(leaf, ocsp.Revoked, now, now.Add(time.Hour)))
	f.Add(root.answer(leaf, ocsp.Unknown, now, time.Time{}))
	f.Add([]byte{0x30, 0x03, 0x0a, 0x01, 0x06})
	f.Add([]byte{0x30, 0x80})
	cert := must(x509.ParseCertificate(leaf))
	f.Fuzz(func(t *testing.T, der []byte) {
		from, until, err := tlsconf.ParseStaple(der, cert)
		theirs, theirErr := ocsp.ParseResponseForCert(der, cert, nil)
		if err == nil && (until.IsZero() || !from.Equal(theirsOr(theirs).ThisUpdate) && theirErr == nil) {
			t.Fatalf("%x: from %v until %v, x/crypto %v", der, from, until, theirs)
		}
		if theirErr == nil && theirs.Status == ocsp.Good && !theirs.NextUpdate.IsZero() && theirs.SerialNumber.Cmp(cert.SerialNumber) == 0 && err != nil && len(der) < 16<<10 {
			t.Fatalf("%x: %v, x/crypto reads it", der, err)
		}
	})
}

func theirsOr(r *ocsp.Response) ocsp.Response {
	if r == nil {
		return ocsp.Response{}
	}
	return *r
}
