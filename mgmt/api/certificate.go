package api

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/disk"
)

// CertificateFile is the PEM file in the data directory with the API's certificate,
// followed by its key.
const CertificateFile = "api.pem"

const (
	certificateBits = 2048
	certificateLife = 5 * 365 * 24 * time.Hour
	// certificateRest is the minimum remaining lifetime of the certificate at start.
	certificateRest = 30 * 24 * time.Hour
)

// Certificate returns the certificate of the API in dir. If it is missing, broken or about to
// expire, a self-signed one is created for this machine's name and addresses and the given
// names. The result why is the reason, "" if the stored one is good. The file is written
// atomically, readable only by its owner.
func Certificate(dir string, now time.Time, names ...string) (cert tls.Certificate, why string, err error) {
	path := filepath.Join(dir, CertificateFile)
	cert, err = loadCertificate(path, now)
	if err == nil {
		return cert, "", nil
	}
	why = err.Error()
	if errors.Is(err, fs.ErrNotExist) {
		why = "there was none"
	}
	content, err := newCertificate(now, names)
	if err != nil {
		return tls.Certificate{}, why, fmt.Errorf("make the API certificate: %w", err)
	}
	if err := disk.Replace(path, content); err != nil {
		return tls.Certificate{}, why, fmt.Errorf("keep the API certificate: %w", err)
	}
	cert, err = tls.X509KeyPair(content, content)
	return cert, why, err
}

func loadCertificate(path string, now time.Time) (tls.Certificate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return tls.Certificate{}, err
	}
	cert, err := tls.X509KeyPair(content, content)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s is broken: %w", path, err)
	}
	if now.Add(certificateRest).After(cert.Leaf.NotAfter) {
		return tls.Certificate{}, fmt.Errorf("%s expires on %s", path, cert.Leaf.NotAfter.Format(time.DateOnly))
	}
	return cert, nil
}

func newCertificate(now time.Time, names []string) ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, certificateBits)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: cut(host, 64), Organization: []string{"Sluice"}}, // 64: RFC 5280, ub-common-name
		NotBefore:    now.Add(-time.Hour),                                                    // tolerates clock skew
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},

		BasicConstraintsValid: true,
	}
	addNames(template, append([]string{host, "localhost"}, names...))
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})...), nil
}

func cut(s string, most int) string { return s[:min(len(s), most)] }

// addNames adds the names and all current addresses of this machine to the certificate.
func addNames(template *x509.Certificate, names []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		if addr, err := netip.ParseAddr(name); err == nil {
			template.IPAddresses = append(template.IPAddresses, net.IP(addr.AsSlice()))
			continue
		}
		if rest.ValidHost(name) {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	for _, addr := range append(LocalAddrs(), netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()) {
		if text := addr.WithZone("").String(); !seen[text] {
			seen[text] = true
			template.IPAddresses = append(template.IPAddresses, net.IP(addr.WithZone("").AsSlice()))
		}
	}
}

// suites lists the cipher suites for TLS 1.2: forward secrecy and AEAD only, no CBC. Those
// of TLS 1.3 are not configurable and are all of that kind.
var suites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// TLSConfig returns the TLS configuration of the API. It uses the chosen certificate, or
// cert if there is none. chosen may be nil.
func TLSConfig(cert tls.Certificate, chosen func() *tls.Certificate) *tls.Config {
	protocols := []string{"h2", "http/1.1", "http/1.0"} // net/http omits the last: curl --http1.0
	return &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: suites, NextProtos: protocols, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if chosen != nil {
			if c := chosen(); c != nil {
				return c, nil
			}
		}
		return &cert, nil
	}}
}
