package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// A response is valid from its creation, within the clock tolerance, to its end.
func TestAResponseIsFreshToTheSecond(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		r    ocsp.Response
		want string
	}{
		"now":                    {ocsp.Response{ThisUpdate: now}, ""},
		"as far ahead as may be": {ocsp.Response{ThisUpdate: now.Add(clockSkew)}, ""},
		"too far ahead":          {ocsp.Response{ThisUpdate: now.Add(clockSkew + 1)}, "the response is of the future (2026-01-02T03:09:05Z)"},
		"without an end":         {ocsp.Response{ThisUpdate: now.AddDate(-1, 0, 0)}, ""},
		"about to end":           {ocsp.Response{NextUpdate: now.Add(1)}, ""},
		"ended":                  {ocsp.Response{NextUpdate: now}, "the response was valid until 2026-01-02T03:04:05Z"},
		"revoked":                {ocsp.Response{Status: ocsp.Revoked, RevokedAt: now}, "it was revoked on 2026-01-02"},
		"unknown":                {ocsp.Response{Status: ocsp.Unknown}, "the responder does not know the certificate"},
		"of a certificate that is about to expire": {ocsp.Response{Certificate: &x509.Certificate{NotAfter: now.Add(1)}}, ""},
		"of one that expired":                      {ocsp.Response{Certificate: &x509.Certificate{NotAfter: now}}, "the responder's own certificate has expired"},
	} {
		got := ""
		if err := checkFresh(&c.r, now); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if clockSkew != 5*time.Minute {
			t.Errorf("clocks may differ by %v", clockSkew)
		}
	}
}

// A response is renewed shortly before half of its lifetime.
func TestResponsesAreRenewedBeforeHalfOfTheirLife(t *testing.T) {
	made := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for life, r := range map[time.Duration]*ocsp.Response{
		10 * time.Hour: {ThisUpdate: made, NextUpdate: made.Add(10 * time.Hour)},
		time.Hour:      {ThisUpdate: made},
	} {
		least, most := life, time.Duration(0)
		for range 2000 {
			after := refreshAt(r).Sub(made)
			least, most = min(least, after), max(most, after)
		}
		if least < life*4/10 || most > life/2 || least > life*42/100 || most < life*48/100 {
			t.Errorf("with a life of %v after %v to %v", life, least, most)
		}
	}
	if a, b := made, made.Add(1); later(a, b) != b || later(b, a) != b {
		t.Error("the earlier one is later")
	}
}

// The first and last address of each private range is recognised.
func TestPrivateRangesAreExact(t *testing.T) {
	for _, c := range []struct{ before, first, last, after string }{
		{"", "0.0.0.0", "0.255.255.255", "1.0.0.0"}, {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"}, {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
		{"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"}, {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"}, {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
		{"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"}, {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"}, {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
		{"223.255.255.255", "224.0.0.0", "255.255.255.255", ""}, {"64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::"},
		{"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"}, {"fbff:ffff::", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"},
		{"", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""}, {"", "fec0::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", ""}, {"64:ff9b::9ff:ffff", "64:ff9b::a00:0", "64:ff9b::aff:ffff", "64:ff9b::b00:0"},
	} {
		for text, want := range map[string]bool{c.before: false, c.first: true, c.last: true, c.after: false} {
			if text != "" && (publicResponder(netip.MustParseAddr(text)) != nil) != want {
				t.Errorf("%s is private: %t", text, !want)
			}
		}
	}
}

// Names in certificates are untrusted. They are shown truncated and printable.
func TestNamesOfStrangersAreShownShortAndPrintable(t *testing.T) {
	x := strings.Repeat
	for got, want := range map[string]string{
		show(x("a", 64)): x("a", 64), show(x("a", 65)): x("a", 64) + "…", show("a\x1b\xffb"): "a··b", show(""): "",
		cut(x("b", 200)): x("b", 200), cut(x("b", 201)): x("b", 200) + "…", cut(x("b", 199) + "é"): x("b", 199) + "…",
		clean("\t \u00a0é\u202e"):                                   "· ·é·",
		nameOf(pkix.Name{CommonName: "c", Country: []string{"DE"}}): "c", nameOf(pkix.Name{Country: []string{"DE"}, Organization: []string{"o\n"}}): "O=o·,C=DE", nameOf(pkix.Name{}): "",
		colons(nil): "", colons([]byte{0}): "00", colons([]byte{0xab, 1, 0xff}): "AB:01:FF",
		fmt.Sprint(keyUsages(0)): "[]", fmt.Sprint(keyUsages(x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature)): "[digital signature CRL signing]", fmt.Sprint(keyUsages(x509.KeyUsageDecipherOnly)): "[decipher only]",
		fmt.Sprint(extKeyUsages([]x509.ExtKeyUsage{x509.ExtKeyUsageAny, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageEmailProtection, x509.ExtKeyUsageTimeStamping, x509.ExtKeyUsageOCSPSigning, x509.ExtKeyUsageIPSECUser})): "[any TLS server TLS client code signing mail time stamping OCSP signing other]",
		describeKey("none"): "unknown", keyProblem("none"): "of a kind TLS does not use",
		called(&x509.Certificate{SerialNumber: big.NewInt(7)}):                                                                                             "serial number 7",
		called(&x509.Certificate{SerialNumber: big.NewInt(7), EmailAddresses: []string{"a@b"}}):                                                            "a@b",
		called(&x509.Certificate{DNSNames: []string{"d"}, Subject: pkix.Name{CommonName: "s"}}):                                                            "s",
		distinguished(pkix.Name{Names: []pkix.AttributeTypeAndValue{{Type: idMail, Value: "a@b"}, {Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: "c"}}}): "CN=c,emailAddress=a@b",
		distinguished(pkix.Name{Names: []pkix.AttributeTypeAndValue{{Type: idMail, Value: "a@b"}}}):                                                        "emailAddress=a@b",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if sameKey("none", "none") {
		t.Error("two invalid keys are equal")
	}
}

// The status changes exactly at the limit, and days are whole.
func TestStatusOfACertificateChangesAtTheSecond(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := &x509.Certificate{NotBefore: from, NotAfter: from.AddDate(0, 0, 100)}
	for _, s := range []struct {
		at   time.Time
		want Status
		days int
	}{
		{from.Add(-1), StatusInvalid, 100}, {from, StatusValid, 100}, {from.Add(1), StatusValid, 99}, {c.NotAfter.AddDate(0, 0, -16), StatusValid, 16}, {c.NotAfter.AddDate(0, 0, -16).Add(1), StatusSoon, 15},
		{c.NotAfter.AddDate(0, 0, -15), StatusSoon, 15}, {c.NotAfter.Add(-1), StatusSoon, 0}, {c.NotAfter, StatusExpired, 0}, {c.NotAfter.Add(1), StatusExpired, -1}, {c.NotAfter.AddDate(0, 0, 1), StatusExpired, -1},
	} {
		if got, days := statusAt(c, s.at), daysLeft(c, s.at); got != s.want || days != s.days {
			t.Errorf("%v: %s with %d days, want %s with %d", s.at, got, days, s.want, s.days)
		}
	}
}
