package acme

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Limits of one request to an authority. The operator chose it, but its responses are
// untrusted.
const (
	askTimeout   = 30 * time.Second
	maxAnswer    = 1 << 20 // a chain has a few KiB
	maxRedirects = 3
)

// client returns an HTTP client for the authority's directory.
func (m *Manager) client(s Settings) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := m.options.Certificates.DownloadAuthority(s.CA)
		if err != nil {
			return nil, invalid("the authority's directory cannot be verified: %s", err)
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	transport := outbound.Transport(outbound.Options{Proxy: m.options.Proxy, Environment: true, Timeout: askTimeout, Guard: outbound.Remote})
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = config, true
	return &http.Client{
		Timeout:   askTimeout,
		Transport: bounded{transport},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}, nil
}

// bounded is a transport that allows only https and limits the size of responses, which the
// ACME library reads completely.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the authority names the address %q: only https:// is asked", show(r.URL.String()))
	}
	resp, err := b.Transport.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{resp.Body, maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

var errLong = errors.New("the answer of the authority is too long")

// Read implements io.Reader. Too long a response is an error, not truncated.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errLong
	}
	return n, err
}
