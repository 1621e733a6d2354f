package client

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// finalDot replaces the last letter of the server name in a ClientHello by a dot. Clients of
// crypto/tls never send such a name.
type finalDot struct{ net.Conn }

func (c finalDot) Write(b []byte) (int, error) {
	_, err := c.Conn.Write(bytes.Replace(b, []byte("a.test"), []byte("a.tes."), 1))
	return len(b), err
}

// serverError returns the error of a server when a client connects to it.
func serverError(t *testing.T, server, client *tls.Config, wrap func(net.Conn) net.Conn) error {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			return
		}
		defer c.Close()
		_ = tls.Client(wrap(c), client).Handshake()
		_, _ = io.Copy(io.Discard, c) // until the server has read the end of the handshake
	}()
	ours, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	err = tls.Server(ours, server).Handshake()
	_ = ours.Close()
	<-ended
	return err
}

func TestFailedHandshakesOfClientsGetAReason(t *testing.T) {
	now := time.Now()
	ca, stranger := certstest.NewAuthority(t, "ca", now), certstest.NewAuthority(t, "stranger", now)
	site := ca.Issue("a.test").TLS()
	clients := x509.NewCertPool()
	clients.AddCert(ca.Cert)
	config := func(edit func(*tls.Config)) *tls.Config {
		c := &tls.Config{ServerName: "a.test", InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
		edit(c)
		return c
	}
	server := func(edit func(*tls.Config)) *tls.Config {
		return config(func(c *tls.Config) { c.Certificates = []tls.Certificate{site}; edit(c) })
	}
	asks := server(func(c *tls.Config) { c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, clients })
	shows := func(a *certstest.Authority, usage x509.ExtKeyUsage, until time.Time) *tls.Config {
		shown := a.Issue("a client", func(c *x509.Certificate) {
			c.ExtKeyUsage, c.NotAfter = []x509.ExtKeyUsage{usage}, until
		}).TLS()
		return config(func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }
		})
	}
	later, plain := now.Add(time.Hour), config(func(*tls.Config) {})
	for name, c := range map[string]struct {
		server, client *tls.Config
		want           string
	}{
		"an old version": {server(func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }), config(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
			"the client offers only TLS versions that the farm disables"},
		"other suites": {server(func(c *tls.Config) { c.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256} }),
			config(func(c *tls.Config) {
				c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}
			}), "the client offers no cipher suite of the farm"},
		"other curves": {server(func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP521} }), config(func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.X25519} }),
			"the client offers no key exchange of the farm"},
		"other protocols": {server(func(c *tls.Config) { c.NextProtos = []string{"h2"} }), config(func(c *tls.Config) { c.NextProtos = []string{"secret"} }),
			"the client offers no protocol (ALPN) of the farm"},
		"no certificate":    {asks, plain, "the client sent no certificate, which client_auth requires"},
		"another authority": {asks, shows(stranger, x509.ExtKeyUsageClientAuth, later), "the client's certificate is not signed by an authority of client_ca"},
		"expired":           {asks, shows(ca, x509.ExtKeyUsageClientAuth, now.Add(-time.Minute)), "the client's certificate has expired or is not valid yet"},
		"of a server":       {asks, shows(ca, x509.ExtKeyUsageServerAuth, later), "the client's certificate is not valid for client authentication"},
		"no trust in us": {server(func(*tls.Config) {}), &tls.Config{ServerName: "a.test", RootCAs: x509.NewCertPool()},
			"the client ended the TLS handshake: bad certificate"},
	} {
		err := serverError(t, c.server, c.client, func(c net.Conn) net.Conn { return c })
		if got := handshakeReason(err); got != c.want {
			t.Errorf("%s: %v has the reason %q, want %q", name, err, got, c.want)
		}
	}
	err := serverError(t, server(func(*tls.Config) {}), plain, func(c net.Conn) net.Conn { return finalDot{c} })
	if got := handshakeReason(err); !strings.HasPrefix(got, "malformed TLS handshake: ") {
		t.Errorf("a server name with a final dot: %v has the reason %q", err, got)
	}
}

// Clients of OpenSSL, e.g. curl, and of crypto/tls reject a certificate in different ways.
func TestOpenSSLRejectionHasAReason(t *testing.T) {
	path, err := exec.LookPath("openssl")
	if err != nil {
		t.Skipf("openssl is not installed: %v", err)
	}
	site := certstest.NewAuthority(t, "ca", time.Now()).Issue("a.test").TLS()
	for version, name := range map[string]uint16{"-tls1_2": tls.VersionTLS12, "-tls1_3": tls.VersionTLS13} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		client := exec.CommandContext(t.Context(), path, "s_client", version, "-verify_return_error", "-connect", ln.Addr().String())
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		_ = ln.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
		conn, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		err = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{site}, MinVersion: name}).Handshake()
		if got := handshakeReason(err); !strings.Contains(got, "the client ended the TLS handshake") && !strings.Contains(got, "the client probably ended the TLS handshake") {
			t.Errorf("%s: %v has the reason %q", version, err, got)
		}
		_, _ = conn.Close(), ln.Close()
		_ = client.Wait()
	}
}

func TestHandshakeReasonsContainNoClientData(t *testing.T) {
	for err, want := range map[error]string{
		io.EOF: "",
		fmt.Errorf("more: %w", io.ErrUnexpectedEOF):    "",
		os.NewSyscallError("read", syscall.ECONNRESET): "",
		os.NewSyscallError("write", syscall.EPIPE):     "",
		loop.ErrBusy:    "too many handshakes wait",
		loop.ErrTimeout: "TLS handshake not complete in time",
		loop.ErrPanic:   "internal error in the TLS handshake",
		&tls.CertificateVerificationError{Err: tlsconf.ErrRevoked}:             "certificate is revoked",
		&tls.CertificateVerificationError{Err: tlsconf.ErrCRLMissing}:          "there is no CRL of the certificate's issuer",
		&tls.CertificateVerificationError{Err: tlsconf.ErrCRLExpired}:          "the CRL of the certificate's issuer is not in force",
		errors.New("tls: client \"secret\" is strange"):                        "TLS handshake failed",
		errors.New("tls: invalid signature by the client certificate: secret"): "the client does not have the key of its certificate",
	} {
		if got := handshakeReason(err); got != want {
			t.Errorf("%v has the reason %q, want %q", err, got, want)
		}
	}
}
