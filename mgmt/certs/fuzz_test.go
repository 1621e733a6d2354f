package certs_test

import (
	"crypto"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// FuzzParse parses arbitrary uploads. Each is rejected with a bounded, printable reason
// that contains no line of the key, or yields a chain whose first certificate has the key.
func FuzzParse(f *testing.F) {
	root := certstest.NewAuthority(f, "root", now)
	mid := root.Intermediate("mid")
	leaf := mid.Issue("shop.example")
	other := mid.Issue("other.example")
	for _, seed := range []string{
		leaf.FullPEM(), leaf.KeyPEM() + mid.CertPEM() + root.CertPEM() + leaf.CertPEM(), leaf.ChainPEM(), leaf.KeyPEM(), other.CertPEM() + leaf.KeyPEM(),
		"", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", strings.Repeat("-----BEGIN ", 100), "\xef\xbb\xbf" + leaf.FullPEM(),
	} {
		f.Add([]byte(seed))
	}
	files, _ := filepath.Glob("testdata/*.pem")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(append(b, leaf.FullPEM()...))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := certs.Parse(raw, now, leaf.Key.Public())
		if err == nil {
			if len(b.Chain) == 0 || len(b.Chain) > certs.MaxChain || b.Leaf() != b.Chain[0] || b.Key == nil && b.Known != 0 {
				t.Fatalf("%+v", b)
			}
			if b.Key != nil && !b.Key.Public().(interface{ Equal(crypto.PublicKey) bool }).Equal(b.Leaf().PublicKey) {
				t.Fatal("the key is that of another certificate")
			}
			return
		}
		var refused *certs.Error
		if !errors.As(err, &refused) || len(err.Error()) > 2048 || strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%T %q", err, err)
		}
	})
}

// FuzzAuthorities does the same for authority lists and CRLs.
func FuzzAuthorities(f *testing.F) {
	root := certstest.NewAuthority(f, "root", now)
	list := certstest.PEM("X509 CRL", root.CRL(now, now.AddDate(0, 0, 7)))
	f.Add([]byte(root.CertPEM() + list))
	f.Add([]byte(root.CertPEM()))
	f.Add(root.CRL(now, now.AddDate(0, 0, 7)))
	f.Add([]byte(root.Issue("x.example").FullPEM()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := certs.TryAuthorities(raw, root.Cert, now); err != nil {
			var refused *certs.Error
			if !errors.As(err, &refused) || len(err.Error()) > 2048 || strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("%T %q", err, err)
			}
		}
	})
}
