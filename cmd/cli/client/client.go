// Package client sends requests to the REST API of an appliance: over the control socket in
// its data directory, or over the network with a key. It knows neither commands nor output.
// Errors state the remedy.
package client

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

// Client sends requests to one appliance: to the control socket in Data or, if URL is
// set, over the network.
type Client struct {
	Data, URL, Key, CACert string
	Insecure               bool
}

// Timeout is the usual limit of one request. A change may wait 20 s for the engine.
const Timeout = 60 * time.Second

// Do sends a request and reads the response. An error contains the remedy.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, Timeout))
	defer cancel()
	resp, end, err := c.open(ctx, r)
	if err != nil {
		return Response{}, err
	}
	defer end()
	raw, err := readResponse(resp.Body)
	return Response{Body: raw, Header: resp.Header, Status: resp.StatusCode}, err
}

// open sends a request and returns the response with its body unread, and a function that
// releases it. Responses with an error status are returned as errors.
func (c *Client) open(ctx context.Context, r Request) (*http.Response, func(), error) {
	transport, address, err := c.transport()
	if err != nil {
		return nil, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address+r.Target(), bytes.NewReader(r.Body))
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
	raw, err := readResponse(resp.Body)
	if err != nil {
		return nil, nil, err
	}
	return nil, nil, errorOf(resp.StatusCode, raw, c.APIKey() != "")
}

func (c *Client) setHeaders(req *http.Request, r Request) {
	if len(r.Body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	if r.IfMatch != "" {
		req.Header.Set("If-Match", r.IfMatch)
	}
	req.Header.Set("User-Agent", "sluice/"+Version)
	if key := c.APIKey(); key != "" {
		req.Header.Set("ZAPI_KEY", key)
	}
}

// APIKey returns the key to send. Over the local socket only a key given by flag is used,
// because one in the environment may be for another appliance.
func (c *Client) APIKey() string {
	if c.Key != "" || c.URL == "" {
		return c.Key
	}
	return os.Getenv("SLUICE_KEY")
}

// transport returns the transport and the address of the appliance.
func (c *Client) transport() (*http.Transport, string, error) {
	if c.URL == "" && c.Data == "" {
		return nil, "", flagError("--data is empty: give the data directory of the appliance")
	}
	if c.URL == "" {
		path := filepath.Join(c.Data, Socket)
		return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}, "http://localhost", nil
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, "", flagError("--url: %q must be https://host:port", c.URL)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CACert != "" {
		pem, err := os.ReadFile(c.CACert)
		if err != nil {
			return nil, "", fmt.Errorf("--cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, "", fmt.Errorf("--cacert: no certificate in %s", c.CACert)
		}
	}
	return &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}, "https://" + u.Host, nil
}
