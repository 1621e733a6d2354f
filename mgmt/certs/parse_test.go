package certs_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(b *certs.Bundle) string {
	var out []string
	for _, c := range b.Chain {
		out = append(out, c.Subject.CommonName)
	}
	return strings.Join(out, " ")
}

func TestAnUploadIsPutInOrder(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	mid := root.Intermediate("mid")
	low := mid.Intermediate("low")
	leaf := low.Issue("shop.example")
	for name, text := range map[string]string{
		"in order":       leaf.FullPEM() + root.CertPEM(),
		"key first":      leaf.KeyPEM() + leaf.ChainPEM() + root.CertPEM(),
		"backwards":      root.CertPEM() + mid.CertPEM() + low.CertPEM() + leaf.CertPEM() + leaf.KeyPEM(),
		"twice":          leaf.FullPEM() + leaf.ChainPEM() + root.CertPEM(),
		"texts around":   "Bag Attributes\n  friendlyName: x\n" + leaf.KeyPEM() + "subject=CN\n" + mid.CertPEM() + root.CertPEM() + low.CertPEM() + leaf.CertPEM() + "\nend",
		"windows":        "\xef\xbb\xbf" + strings.ReplaceAll(leaf.FullPEM()+root.CertPEM(), "\n", "\r\n"),
		"parameters":     file(t, "dhparams.pem") + leaf.FullPEM() + root.CertPEM(),
		"as many":        leaf.FullPEM() + strings.Repeat(root.CertPEM(), certs.MaxChain-3),
		"as many blocks": strings.Repeat(certstest.PEM("DH PARAMETERS", nil), 69) + leaf.FullPEM() + root.CertPEM(),
		"as large":       leaf.FullPEM() + root.CertPEM() + strings.Repeat("x", certs.MaxPEM-len(leaf.FullPEM()+root.CertPEM())),
		"with lower ext": strings.ReplaceAll(leaf.FullPEM()+root.CertPEM(), "BEGIN CERTIFICATE", "BEGIN X509 CERTIFICATE") + "",
	} {
		if name == "with lower ext" {
			text = strings.ReplaceAll(text, "END CERTIFICATE", "END X509 CERTIFICATE")
		}
		b, err := certs.Parse([]byte(text), now)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := names(b); got != "shop.example low mid root" || b.Key == nil || len(b.Warnings) != 0 {
			t.Errorf("%s: %s, key %v, warnings %v", name, got, b.Key != nil, b.Warnings)
		}
	}
}

func TestOfAnAuthoritySignedByTwoTheLongerWayStays(t *testing.T) {
	old, fresh := certstest.NewAuthority(t, "old root", now), certstest.NewAuthority(t, "new root", now)
	crossed := old.IssueFor(fresh.Key, "new root", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, c.DNSNames, c.NotAfter = true, true, x509.KeyUsageCertSign, nil, now.AddDate(5, 0, 0)
	})
	leaf := fresh.Issue("shop.example")
	b, err := certs.Parse([]byte(fresh.CertPEM()+leaf.FullPEM()+crossed.CertPEM()), now)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(b); got != "shop.example new root" || !b.Chain[1].Equal(crossed.Cert) || len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "new root was left out, the one issued by new root") {
		t.Errorf("chain %s, warnings %v", got, b.Warnings)
	}
}

func TestSupportedKeysAreAccepted(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	p521, _ := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	r1024, _ := rsa.GenerateKey(rand.Reader, 1024)
	r2048, _ := rsa.GenerateKey(rand.Reader, 2048)
	for _, key := range []crypto.Signer{p384, p521, ed, r1024, r2048} {
		leaf := root.IssueFor(key, "shop.example")
		b, err := certs.Parse([]byte(leaf.FullPEM()), now)
		if err != nil || b.Key == nil {
			t.Fatalf("%T: %v", key, err)
		}
		if told := strings.Contains(strings.Join(b.Warnings, "\n"), "has 1024 bits, and many clients refuse"); told != (key == crypto.Signer(r1024)) {
			t.Errorf("%T: %q", key, b.Warnings)
		}
	}
	p224, _ := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if _, err := certs.Parse([]byte(root.IssueFor(p224, "shop.example").FullPEM()), now); err == nil || !strings.Contains(err.Error(), "an ECDSA key on P-224") {
		t.Errorf("a curve browsers do not take: %v", err)
	}
	for _, change := range []func(*x509.Certificate){func(c *x509.Certificate) { c.DNSNames = hosts(500) }, func(c *x509.Certificate) { c.PermittedDNSDomains = hosts(500) }} {
		if _, err := certs.Parse([]byte(root.Issue("many.example", func(c *x509.Certificate) { c.IsCA, c.BasicConstraintsValid = true, true }, change).FullPEM()), now); err != nil {
			t.Errorf("at the limit: %v", err)
		}
	}
	leaf := root.IssueFor(r2048, "shop.example")
	pkcs1 := certstest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r2048))
	if _, err := certs.Parse([]byte(leaf.CertPEM()+pkcs1), now); err != nil {
		t.Errorf("PKCS #1: %v", err)
	}
	if _, err := certs.Parse([]byte(file(t, "p256-with-params.pem")+file(t, "p256-cert.pem")), time.Now()); err != nil {
		t.Errorf("OpenSSL's form of EC keys: %v", err)
	}
}

func hosts(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("n%d.example", i))
	}
	return names
}

// longRSA returns a public key of that size in bits.
func longRSA(bits uint) publicOnly {
	return publicOnly{&rsa.PublicKey{N: new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), bits), big.NewInt(1)), E: 65537}}
}

// Each of these is rejected with a text that explains the reason.
func TestRefusalsExplainTheReason(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	mid := root.Intermediate("mid")
	leaf, other := mid.Issue("shop.example"), mid.Issue("other.example")
	stranger := certstest.NewAuthority(t, "stranger", now)
	impostor := certstest.NewAuthority(t, "mid", now) // same name, another key
	huge := certstest.NewAuthority(t, "huge", now)
	hugeLeaf := huge.IssueFor(longRSA(8193), "huge.example")
	many := root.Issue("many.example", func(c *x509.Certificate) { c.DNSNames = hosts(501) })
	puzzle := root.Issue("puzzle.example", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.PermittedDNSDomains = true, true, hosts(501)
	})
	expired := mid.Issue("old.example", func(c *x509.Certificate) { c.NotBefore, c.NotAfter = now.AddDate(-1, 0, 0), now.Add(-time.Second) })
	oldMid := root.Intermediate("old mid", func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Hour) })
	twin := mid.IssueFor(leaf.Key, "shop.example")
	longKey := certstest.PEM("RSA PRIVATE KEY", append([]byte{0x30, 0x82, 0xff, 0x00}, make([]byte, 8<<10-3)...))
	half := leaf.KeyPEM()
	half = half[:len(half)/2]
	for name, c := range map[string]struct{ text, says string }{
		"empty":              {"", "no certificate in PEM"},
		"rubbish":            {"hello, world", "no certificate in PEM"},
		"DER":                {string(leaf.Cert.Raw), "no certificate in PEM"},
		"binary":             {strings.Repeat("\x00\xff-----BEGIN", 1000), "no certificate in PEM"},
		"too large":          {strings.Repeat("a", certs.MaxPEM+1), "at most 262144"},
		"no certificate":     {leaf.KeyPEM(), "no certificate in PEM"},
		"no key":             {leaf.ChainPEM(), "no private key"},
		"wrong key":          {leaf.ChainPEM() + other.KeyPEM(), "does not belong to the certificate of shop.example"},
		"two keys":           {leaf.FullPEM() + other.KeyPEM(), "more than one private key"},
		"a thousand keys":    {strings.Repeat(leaf.KeyPEM(), 1000), "more than one private key"},
		"many certificates":  {strings.Repeat(leaf.CertPEM(), 11), "more than 10 certificates"},
		"many blocks":        {strings.Repeat(certstest.PEM("DH PARAMETERS", nil), 75), "more than 74 PEM blocks"},
		"stranger":           {leaf.FullPEM() + stranger.CertPEM(), "the certificate of stranger does not belong to the chain of shop.example"},
		"impostor":           {leaf.CertPEM() + leaf.KeyPEM() + impostor.CertPEM(), "names mid as its issuer, but was not signed"},
		"not an authority":   {other.Issue("below.example").FullPEM(), "not signed by the one in the upload"},
		"two for one key":    {leaf.FullPEM() + twin.CertPEM(), "two certificates"},
		"expired":            {expired.FullPEM(), "old.example expired on 2026-01-02"},
		"expired authority":  {oldMid.Issue("x.example").FullPEM(), "certificate of old mid expired"},
		"huge RSA":           {hugeLeaf.CertPEM(), "RSA key of 8193 bits"},
		"long private key":   {leaf.CertPEM() + longKey, "too long"},
		"short RSA":          {file(t, "rsa512-cert.pem") + file(t, "rsa512.pem"), "RSA key of 512 bits"},
		"thousand names":     {many.FullPEM(), "501 names, at most 500"},
		"name constraints":   {puzzle.FullPEM(), "501 name constraints"},
		"encrypted PKCS #8":  {leaf.CertPEM() + file(t, "encrypted-pkcs8.pem"), "encrypted: decrypt it first"},
		"encrypted PKCS #1":  {leaf.CertPEM() + file(t, "encrypted-pkcs1.pem"), "encrypted: decrypt it first"},
		"DSA key":            {leaf.CertPEM() + file(t, "dsa-key.pem"), "cannot be read"},
		"DSA":                {leaf.KeyPEM() + file(t, "dsa-cert.pem"), "TLS does not use"},
		"odd curve":          {leaf.CertPEM() + file(t, "k1.pem"), "cannot be read"},
		"odd curve's":        {leaf.KeyPEM() + file(t, "k1-cert.pem"), "certificate 1 of the upload cannot be read"},
		"exchange key":       {leaf.CertPEM() + file(t, "x25519.pem"), "cannot sign"},
		"OpenSSH":            {leaf.CertPEM() + certstest.PEM("OPENSSH PRIVATE KEY", []byte("x")), "ssh-keygen"},
		"old DSA block":      {leaf.CertPEM() + certstest.PEM("DSA PRIVATE KEY", []byte("x")), "DSA"},
		"cut key":            {leaf.ChainPEM() + half, "1 of the 3 PEM blocks of the upload are damaged"},
		"damaged base64":     {strings.Replace(leaf.ChainPEM(), "\nMII", "\nM!!", 1) + leaf.KeyPEM(), "damaged"},
		"damaged content":    {certstest.PEM("CERTIFICATE", leaf.Cert.Raw[:100]) + leaf.KeyPEM(), "certificate 1 of the upload cannot be read"},
		"key of rubbish":     {leaf.CertPEM() + certstest.PEM("PRIVATE KEY", []byte("rubbish")), "cannot be read"},
		"CSR":                {certstest.PEM("CERTIFICATE REQUEST", []byte("x")), "CSR: send it"},
		"CRL":                {leaf.FullPEM() + certstest.PEM("X509 CRL", []byte("x")), "/certificates/ca"},
		"PKCS #7":            {certstest.PEM("PKCS7", []byte("x")), "pkcs7 -print_certs"},
		"trusted":            {certstest.PEM("TRUSTED CERTIFICATE", []byte("x")), "openssl x509"},
		"other block":        {certstest.PEM("MESSAGE \x1b[31m", []byte("x")), "MESSAGE ·[31m"},
		"names from outside": {root.Issue("evil\x1b[2Jname").CertPEM() + other.KeyPEM(), "evil·[2Jname"},
	} {
		b, err := certs.Parse([]byte(c.text), now)
		var refused *certs.Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 600 {
			t.Errorf("%s: got %v, %v; want %q", name, b, err, c.says)
		}
	}
}

func TestSuspiciousCertificatesCauseWarnings(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	for want, change := range map[string]func(*x509.Certificate){
		"not valid before 2026-02": func(c *x509.Certificate) { c.NotBefore = now.AddDate(0, 1, 0) },
		"expires on 2026-01-17":    func(c *x509.Certificate) { c.NotAfter = now.AddDate(0, 0, 15) },
		"no subject alternative n": func(c *x509.Certificate) { c.DNSNames = nil },
	} {
		b, err := certs.Parse([]byte(root.Issue("shop.example", change).FullPEM()), now)
		if err != nil || len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], want) {
			t.Errorf("%s: %v %v", want, err, b)
		}
	}
	b, err := certs.Parse([]byte(root.Issue("192.0.2.7", func(c *x509.Certificate) { c.IPAddresses = []net.IP{{192, 0, 2, 7}} }).FullPEM()), now)
	if err != nil || len(b.Warnings) != 0 {
		t.Errorf("an address: %v %v", err, b.Warnings)
	}
}

func TestKnownKeyNeedNotBeUploaded(t *testing.T) {
	root := certstest.NewAuthority(t, "root", now)
	a, b := root.Issue("a.example"), root.Issue("b.example")
	got, err := certs.Parse([]byte(b.ChainPEM()), now, a.Key.Public(), b.Key.Public())
	if err != nil || got.Key != nil || got.Known != 1 {
		t.Errorf("%v %+v", err, got)
	}
	long := root.IssueFor(longRSA(8192), "long.example")
	if _, err := certs.Parse([]byte(long.CertPEM()), now, long.Key.Public()); err != nil {
		t.Errorf("the longest RSA key: %v", err)
	}
	if _, err := certs.Parse([]byte(b.ChainPEM()), now, a.Key.Public()); err == nil || !strings.Contains(err.Error(), "b.example is none for a key that was made here") {
		t.Errorf("got %v", err)
	}
}

func TestNames(t *testing.T) {
	for length, want := range map[int]bool{certs.MaxName: true, certs.MaxName + 1: false} {
		for kind, check := range map[string]func(string) (string, error){"certificate": certs.CertificateName, "CSR": certs.RequestName, "authority": certs.AuthorityName} {
			if _, err := check(strings.Repeat("a", length)); want != (err == nil) {
				t.Errorf("%s with %d letters: %v", kind, length, err)
			}
		}
	}
	for in, want := range map[string]string{
		"shop": "shop.pem", "shop.pem": "shop.pem", "*.example.com": "*.example.com.pem", "*_example.com.pem": "*_example.com.pem",
		"a (b) @c-d.e": "a (b) @c-d.e.pem", "_x": "_x.pem", "a..b": "a..b.pem", "x": "x.pem", "00": "00.pem",
	} {
		if got, err := certs.CertificateName(in); err != nil || got != want {
			t.Errorf("%q: got %q %v, want %q", in, got, err, want)
		}
	}
	bad := []string{"", ".pem", "../x", "..", "/etc/passwd", "a/b", "-rf", "$(id)", "`id`", "a\nb", "a\x00b", "0", "0.pem", "pem", "ca", "ocsp.pem", "letsencryptz", "activation",
		strings.Repeat("a", 10<<10), "ｓhop", "shоp", "a;b", "a'b", `a"b`, "*", "*.", "**.a", "a ", "a .pem", "a.csr", "a.csr.pem", "a.key", "a.pem.pem", "a\\b", "a%2f", "a&b", "<a>", "\x1b[1m"}
	for _, in := range bad {
		var refused *certs.Error
		if got, err := certs.CertificateName(in); !errors.As(err, &refused) || strings.ContainsAny(err.Error(), "\x1b\n\x00") || len(err.Error()) > 300 {
			t.Errorf("%q: %q %v", in, got, err)
		}
	}
	for in, want := range map[string]string{"shop": "shop.csr", "shop.csr": "shop.csr", "A-1": "A-1.csr"} {
		if got, err := certs.RequestName(in); err != nil || got != want {
			t.Errorf("%q: got %q %v, want %q", in, got, err, want)
		}
	}
	for _, in := range append(bad, "a.b", "a_b", "a b", "-a") {
		if got, err := certs.RequestName(in); err == nil && in != "a.csr" {
			t.Errorf("CSR %q: %q", in, got)
		}
	}
	for in, want := range map[string]string{"clients": "clients", "clients.pem": "clients", "a.b_c-d": "a.b_c-d"} {
		if got, err := certs.AuthorityName(in); err != nil || got != want {
			t.Errorf("%q: got %q %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "../x", ".x", "a b", "a/b", "0", "ca", "_x", strings.Repeat("a", 129)} {
		if got, err := certs.AuthorityName(in); err == nil {
			t.Errorf("authority %q: %q", in, got)
		}
	}
}
