package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"golang.org/x/crypto/ocsp"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Limits of a request to a responder. Its address comes from a certificate, so it is
// untrusted.
const (
	askTimeout   = 10 * time.Second
	maxResponse  = 64 << 10
	maxRedirects = 3
	maxURL       = 1 << 10
	// askedServers is the number of responders of a certificate to try.
	askedServers = 2
)

// askResponder requests the status of a certificate and returns the unverified response in
// DER.
func (m *Manager) askResponder(ctx context.Context, e *entry) ([]byte, error) {
	question, err := ocsp.CreateRequest(e.chain[0], e.issuer(), nil)
	if err != nil {
		return nil, err
	}
	client := m.client()
	defer client.CloseIdleConnections()
	servers := e.chain[0].OCSPServer
	var failed error
	for _, server := range servers[:min(askedServers, len(servers))] {
		response, err := ask(ctx, client, server, question)
		if err == nil {
			return response, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

func ask(ctx context.Context, client *http.Client, server string, question []byte) ([]byte, error) {
	if err := checkURL(server); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/ocsp-request")
	req.Header.Set("Accept", "application/ocsp-response")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered with status %d", show(server), resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", show(server), err)
	case len(body) > maxResponse:
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", show(server), maxResponse)
	}
	return body, nil
}

// client returns an HTTP client restricted to the given address and few redirects. The
// restriction also applies to literal addresses requested through the operator's proxy. A
// name that only the proxy resolves cannot be checked.
func (m *Manager) client() *http.Client {
	o := outbound.Options{Proxy: m.proxy, Timeout: askTimeout, Guard: outbound.Reachable}
	if !m.privateResponders() {
		o.Guard = publicResponder
	}
	transport := outbound.Transport(o)
	transport.DisableKeepAlives, transport.DisableCompression, transport.MaxResponseHeaderBytes = true, true, 16<<10
	return &http.Client{
		Timeout:   askTimeout,
		Transport: transport,
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkURL(req.URL.String())
		},
	}
}

func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxURL:
		return fmt.Errorf("the responder %q is no address", show(text))
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.User != nil:
		return fmt.Errorf("the responder %q is not one that is asked: allowed are http:// and https:// with a host", show(text))
	}
	return nil
}

// publicResponder rejects private addresses, so that a certificate cannot make the
// appliance contact its neighbours.
func publicResponder(addr netip.Addr) error {
	if err := outbound.Public(addr); err != nil {
		return fmt.Errorf("%w: allow that with `sluice certificate ocsp private_responders=true` when your authority is there", err)
	}
	return nil
}
