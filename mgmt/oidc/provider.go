package oidc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Limits for one request to the provider. The operator has chosen it, but its responses are
// untrusted.
const (
	askTime   = 10 * time.Second
	maxAnswer = 256 << 10 // keys and tokens have a few KiB
	// keepTime is the time for which the data of a provider are cached.
	keepTime = 10 * time.Minute
	// failTime is the time for which a failure is cached.
	failTime = 3 * time.Second
)

// known is a provider with its metadata.
type known struct {
	settings Settings
	provider *oidc.Provider
	http     *http.Client
}

// asked returns the configured provider with recent metadata, and the configuration for it.
func (c *Client) asked(ctx context.Context) (*oauth2.Config, *known, error) {
	k, err := c.kept.Read()
	if err != nil {
		return nil, nil, err
	}
	s := k.Settings.complete()
	if !s.Enabled {
		return nil, nil, ErrOff
	}
	p, err := c.discover(ctx, s, k.Secret)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	config := &oauth2.Config{ClientID: s.ClientID, Endpoint: p.provider.Endpoint(), RedirectURL: s.Redirect, Scopes: append([]string{oidc.ScopeOpenID}, s.Scopes...)}
	if len(k.Secret) > 0 {
		secret, err := c.kept.Open(k.Secret)
		if err != nil {
			return nil, nil, err
		}
		config.ClientSecret = string(secret)
	}
	return config, p, nil
}

// discovery is a request for a provider's endpoints and keys, in progress or complete. All
// logins share it: any client may begin one, and each request may take askTime.
type discovery struct {
	settings Settings
	secret   []byte // sealed
	done     chan struct{}

	// The results, valid after done is closed.
	provider *known
	err      error
	until    time.Time // end of its validity
}

// discover returns the provider with its metadata.
func (c *Client) discover(ctx context.Context, s Settings, secret []byte) (*known, error) {
	d := c.discovery(ctx, s, secret)
	select {
	case <-d.done:
		return d.provider, d.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// discovery returns the last discovery if it is in progress or valid, otherwise a new one.
func (c *Client) discovery(ctx context.Context, s Settings, secret []byte) *discovery {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.last; d != nil && d.holds(c.options.Now()) && reflect.DeepEqual(d.settings, s) && string(d.secret) == string(secret) {
		return d
	}
	d := &discovery{settings: s, secret: secret, done: make(chan struct{})}
	c.last = d
	go func() {
		defer close(d.done)
		// The first client may leave while others wait.
		if d.provider, d.err = c.ask(context.WithoutCancel(ctx), s); d.err != nil {
			d.until = c.options.Now().Add(failTime)
			return
		}
		d.until = c.options.Now().Add(keepTime)
	}()
	return d
}

func (d *discovery) holds(now time.Time) bool {
	select {
	case <-d.done:
		return now.Before(d.until)
	default:
		return true
	}
}

func (c *Client) ask(ctx context.Context, s Settings) (*known, error) {
	client, err := c.client(s)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, client), askTime)
	defer cancel()
	provider, err := oidc.NewProvider(ctx, s.Issuer)
	if err != nil {
		return nil, err
	}
	return &known{settings: s, provider: provider, http: client}, nil
}

// client returns an HTTP client for the provider. It keeps no connection open, because logins
// are rare.
func (c *Client) client(s Settings) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := c.options.Authority(s.CA)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	transport := outbound.Transport(outbound.Options{Environment: true, Timeout: askTime, Guard: outbound.Remote})
	transport.TLSClientConfig, transport.DisableKeepAlives = config, true
	return &http.Client{
		Timeout:       askTime,
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// bounded connects only to https addresses, and limits the size of answers.
type bounded struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("the provider names an address of %s: only https:// is asked", r.URL.Host)
	}
	answer, err := b.Transport.RoundTrip(r)
	if err == nil {
		answer.Body = &body{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// body is the start of an answer; closing it closes the whole answer.
type body struct {
	io.Reader
	io.Closer
}
