package tlsconf_test

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// hugeRSA returns an RSA public key of the given size without a private key.
func hugeRSA(bits int) crypto.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: 65537}
}

func TestUnusableCertificatesAreRefused(t *testing.T) {
	root := newCA(t, "root")
	key := p256()
	leaf := root.sign(key.Public(), dns("a.example"))
	var long [][]byte
	for range tlsconf.MaxChain + 1 {
		long = append(long, leaf)
	}
	fat := root.sign(key.Public(), dns(indexed(strings.Repeat("x", 150)+"%d.example", 700)...))
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	x25519 := must(x509.MarshalPKCS8PrivateKey(must(ecdh.X25519().GenerateKey(rand.Reader))))
	block, _ := pem.Decode(must(os.ReadFile("testdata/dsa.pem")))
	pkcs1 := x509.MarshalPKCS1PrivateKey(rsa2048().(*rsa.PrivateKey))
	rsaLeaf := root.sign(rsa2048().Public(), dns("a.example"))
	for _, c := range []struct {
		what string
		cert farm.Certificate
		say  string
	}{
		{"empty", farm.Certificate{}, "no certificate"},
		{"unreadable", farm.Certificate{Chain: [][]byte{[]byte("junk")}, Key: pkcs8(key)}, "certificate 0 of its chain cannot be read"},
		{"followed by something", farm.Certificate{Chain: [][]byte{append(leaf[:len(leaf):len(leaf)], 0)}, Key: pkcs8(key)}, "cannot be read"},
		{"unreadable second", farm.Certificate{Chain: [][]byte{leaf, {0x30}}, Key: pkcs8(key)}, "certificate 1 of its chain cannot be read"},
		{"chain too long", farm.Certificate{Chain: long, Key: pkcs8(key)}, "11 certificates"},
		{"chain too big", farm.Certificate{Chain: [][]byte{leaf, fat}, Key: pkcs8(key)}, "clients accept"},
		{"a thousand names and one", farm.Certificate{Chain: [][]byte{root.sign(key.Public(), dns(indexed("n%d.example", 1001)...))}, Key: pkcs8(key)}, "1001 names"},
		{"RSA 16384", farm.Certificate{Chain: [][]byte{root.sign(hugeRSA(16384))}, Key: pkcs8(key)}, "16384 bits"},
		{"RSA 8193 in the chain", farm.Certificate{Chain: [][]byte{leaf, root.sign(hugeRSA(8193))}, Key: pkcs8(key)}, "certificate 1 of its chain: its RSA key has 8193 bits"},
		{"RSA 1023", farm.Certificate{Chain: [][]byte{root.sign(hugeRSA(1023))}, Key: pkcs8(key)}, "at least 1024"},
		{"DSA", farm.Certificate{Chain: [][]byte{block.Bytes}, Key: pkcs8(key)}, "DSA"},
		{"P-224", root.issue("", p224), "P-224"},
		{"no key", farm.Certificate{Chain: [][]byte{leaf}}, "private key is missing"},
		{"key unreadable", farm.Certificate{Chain: [][]byte{leaf}, Key: []byte("junk")}, "not a PKCS #8 key"},
		{"key as PKCS #1", farm.Certificate{Chain: [][]byte{rsaLeaf}, Key: pkcs1}, "not a PKCS #8 key"},
		{"key that cannot sign", farm.Certificate{Chain: [][]byte{leaf}, Key: x25519}, "cannot sign"},
		{"huge key", farm.Certificate{Chain: [][]byte{leaf}, Key: make([]byte, 9000)}, "9000 bytes"},
		{"another key", farm.Certificate{Chain: [][]byte{leaf}, Key: pkcs8(p256())}, "not that of the certificate"},
		{"key of another kind", farm.Certificate{Chain: [][]byte{leaf}, Key: pkcs8(rsa2048())}, "not that of the certificate"},
		{"key of another in the chain", farm.Certificate{Chain: [][]byte{rsaLeaf, leaf}, Key: pkcs8(key)}, "not that of the certificate"},
	} {
		if _, err := tlsconf.CheckCertificate(&c.cert); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, want %q", c.what, err, c.say)
		}
	}
}

func TestAThousandNamesAreServed(t *testing.T) {
	root := newCA(t, "root")
	cfg := &farm.Config{Certificates: []farm.Certificate{root.issue("many", p256(), dns(indexed("n%d.example", 1000)...))}}
	o := shake(t, listen(t, cfg, all(cfg)), anyone("n999.example"))
	if o.failed() || o.client.PeerCertificates[0].VerifyHostname("n999.example") != nil {
		t.Errorf("%v", o.clientErr)
	}
}

func TestInfoDescribesTheCertificate(t *testing.T) {
	root := newCA(t, "root")
	for _, c := range []struct {
		key  crypto.Signer
		want string
	}{
		{rsa2048(), "RSA 2048"}, {rsa1024(), "RSA 1024"}, {p256(), "ECDSA P-256"}, {p384(), "ECDSA P-384"},
		{must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), "ECDSA P-521"}, {edwards(), "Ed25519"},
	} {
		cert := root.issue("", c.key, dns("a.example"), common("leaf"))
		info, err := tlsconf.CheckCertificate(&cert)
		if err != nil {
			t.Fatalf("%s: %v", c.want, err)
		}
		leaf := must(x509.ParseCertificate(cert.Chain[0]))
		if info.Key != c.want || info.Subject != "CN=leaf" || info.Issuer != "CN=root" || info.Serial != leaf.SerialNumber.Text(16) ||
			!info.NotAfter.Equal(leaf.NotAfter) || !info.NotBefore.Equal(leaf.NotBefore) || info.MustStaple {
			t.Errorf("%+v, want %s", info, c.want)
		}
	}
}

func TestDaysLeftAreWholeDays(t *testing.T) {
	root := newCA(t, "root")
	info := must(tlsconf.Inspect([][]byte{root.sign(p256().Public(), dns("a.example"))}))
	for before, want := range map[time.Duration]int{0: 0, time.Hour: 0, 24 * time.Hour: 1, 15*24*time.Hour + time.Minute: 15, -time.Second: -1, -24 * time.Hour: -1, -25 * time.Hour: -2} {
		if got := info.DaysLeft(info.NotAfter.Add(-before)); got != want {
			t.Errorf("%v before the end: %d days, want %d", before, got, want)
		}
	}
}

func TestWarningsNameReasonsForClientsToRefuse(t *testing.T) {
	root := newCA(t, "root")
	inter := root.below("inter")
	now := time.Now()
	usage := func(u x509.KeyUsage, e ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.KeyUsage, c.ExtKeyUsage = u, e }
	}
	ok := dns("a.example")
	one := func(der []byte) [][]byte { return [][]byte{der} }
	for _, c := range []struct {
		what  string
		chain [][]byte
		at    time.Time
		say   string
	}{
		{"a good one", [][]byte{inter.sign(p256().Public(), ok), inter.cert.Raw, root.cert.Raw}, now, ""},
		{"expired", one(root.sign(p256().Public(), ok)), now.Add(200 * time.Hour), "it expired on"},
		{"not yet valid", one(root.sign(p256().Public(), ok)), now.Add(-2 * time.Hour), "not valid before"},
		{"intermediate expired", [][]byte{inter.sign(p256().Public(), ok, func(c *x509.Certificate) { c.NotAfter = now.Add(900 * time.Hour) }), inter.cert.Raw}, now.Add(200 * time.Hour), "certificate 1 of its chain expired on"},
		{"out of order", [][]byte{inter.sign(p256().Public(), ok), root.cert.Raw, inter.cert.Raw}, now, "certificate 1 of its chain did not issue"},
		{"short key", one(root.sign(rsa1024().Public(), ok)), now, "short key: RSA 1024"},
		{"common name only", one(root.sign(p256().Public(), common("a.example"))), now, "no subject alternative name"},
		{"no name", one(root.sign(p256().Public())), now, "covers no name"},
		{"for clients", one(root.sign(p256().Public(), ok, usage(x509.KeyUsageDigitalSignature, x509.ExtKeyUsageClientAuth))), now, "extended key usage"},
		{"no usage", one(root.sign(p256().Public(), ok, usage(0))), now, ""},
		{"any usage", one(root.sign(p256().Public(), ok, usage(0, x509.ExtKeyUsageAny))), now, ""},
		{"no signatures", one(root.sign(rsa2048().Public(), ok, usage(x509.KeyUsageKeyEncipherment))), now, "key usage"},
	} {
		got := must(tlsconf.Inspect(c.chain)).Warnings(c.at)
		if joined := strings.Join(got, "; "); (c.say == "") != (len(got) == 0) || !strings.Contains(joined, c.say) {
			t.Errorf("%s: %q, want %q", c.what, joined, c.say)
		}
	}
}

// No error contains a part of the key.
func TestErrorsContainNoKeyBytes(t *testing.T) {
	root := newCA(t, "root")
	key := pkcs8(p256())
	leaf := root.sign(p256().Public(), dns("a.example"))
	for _, k := range [][]byte{key, key[:len(key)-3], append([]byte{0x30, 0x82}, key...), []byte("-----BEGIN SECRETSECRET")} {
		_, err := tlsconf.CheckCertificate(&farm.Certificate{Chain: [][]byte{leaf}, Key: k})
		if err == nil || strings.Contains(err.Error(), "SECRET") || len(err.Error()) > 100 {
			t.Errorf("%v", err)
		}
	}
}
