package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const base = "/api/v4.0"

// Version is the version of the program, sent as the user agent. The build sets it.
var Version = "unversioned"

// apiClient sends requests to one appliance: to the control socket in data or, if url is
// set, over the network.
type apiClient struct {
	data, url, key, cacert string
	insecure               bool
}

// timeout bounds one request. A change may wait 20 s for the engine.
const timeout = 60 * time.Second

// exchange sends a request and reads the response. An error contains the remedy.
func (c *apiClient) exchange(ctx context.Context, r request) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.wait, timeout))
	defer cancel()
	resp, end, err := c.open(ctx, r)
	if err != nil {
		return answer{}, err
	}
	defer end()
	raw, err := readAnswer(resp.Body)
	return answer{raw: raw, header: resp.Header, status: resp.StatusCode}, err
}

// open sends a request and returns the response with its body unread, and a function that
// releases it. Responses with an error status are returned as errors.
func (c *apiClient) open(ctx context.Context, r request) (*http.Response, func(), error) {
	transport, address, err := c.transport()
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address+r.target(), bytes.NewReader(r.body))
	if err != nil {
		return nil, nil, flagError("--url: %v", err)
	}
	c.setHeaders(req, r)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		transport.CloseIdleConnections()
		return nil, nil, c.explain(err)
	}
	end := func() {
		resp.Body.Close()
		transport.CloseIdleConnections()
	}
	if resp.StatusCode < 300 {
		return resp, end, nil
	}
	defer end()
	raw, err := readAnswer(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, refused(resp.StatusCode, raw, c.apiKey() != "")
}

func (c *apiClient) setHeaders(req *http.Request, r request) {
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if r.match != "" {
		req.Header.Set("If-Match", r.match)
	}
	req.Header.Set("User-Agent", "sluice/"+Version)
	if key := c.apiKey(); key != "" {
		req.Header.Set("ZAPI_KEY", key)
	}
}

// apiKey returns the key to send. Over the local socket only a key given by flag is used,
// because one in the environment may be for another appliance.
func (c *apiClient) apiKey() string {
	if c.key != "" || c.url == "" {
		return c.key
	}
	return os.Getenv("SLUICE_KEY")
}

// transport returns the transport and the address of the appliance.
func (c *apiClient) transport() (*http.Transport, string, error) {
	if c.url == "" && c.data == "" {
		return nil, "", flagError("--data is empty: give the data directory of the appliance")
	}
	if c.url == "" {
		path := filepath.Join(c.data, Socket)
		return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}, "http://localhost", nil
	}
	u, err := url.Parse(c.url)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, "", flagError("--url: %q must be https://host:port", c.url)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.insecure}
	if c.cacert != "" {
		pem, err := os.ReadFile(c.cacert)
		if err != nil {
			return nil, "", fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("--cacert: no certificate in %s", c.cacert)
		}
	}
	return &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}, "https://" + u.Host, nil
}
