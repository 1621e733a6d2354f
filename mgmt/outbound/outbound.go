// Package outbound makes the transports for all HTTP requests of mgmt: ACME, OCSP and all
// others to outside of the appliance. It is the only place that uses the operator's proxy
// setting.
//
// The setting is read for each request, so a change needs no restart. Without a setting,
// the proxies of the environment are used (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), if the
// caller allows it.
package outbound

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Proxy is the setting: addresses such as http://proxy.example.com:3128, empty for none.
type Proxy struct {
	Plain  string // for http://
	Secure string // for https://
}

// maxProxy is the greatest length of a proxy's address, in bytes.
const maxProxy = 1024

// CheckProxy returns an error if a text is not the address of a proxy.
func CheckProxy(text string) error {
	_, err := parse(text)
	return err
}

// parse reads the address of a proxy; nil for none. Without a scheme it is HTTP.
func parse(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	whole := text
	if !strings.Contains(text, "://") {
		whole = "http://" + text
	}
	u, err := url.Parse(whole)
	switch {
	case err != nil || len(text) > maxProxy || strings.ContainsAny(text, " \t\r\n"):
		return nil, errors.New("it is no address: write http://proxy.example.com:3128")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, fmt.Errorf("%s:// is none that proxies speak here: http, https and socks5 are possible", u.Scheme)
	case u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it is not a host with a port: write http://proxy.example.com:3128")
	}
	return u, nil
}

// For returns the proxy for an address; nil for none. Requests to this machine are direct.
func (p Proxy) For(to *url.URL) (*url.URL, error) {
	if local(to.Hostname()) {
		return nil, nil
	}
	text := p.Plain
	if to.Scheme == "https" {
		text = p.Secure
	}
	u, err := parse(text)
	if err != nil { // it was checked when it was set
		return nil, fmt.Errorf("the proxy for %s: %w", to.Scheme, err)
	}
	return u, nil
}

func local(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// Options holds the parameters of a Transport.
type Options struct {
	// Proxy returns the setting; nil: there is none.
	Proxy func() Proxy
	// Environment: without a setting the environment's proxies are used.
	Environment bool
	// Timeout limits connecting, TLS and waiting for an answer's header, each.
	Timeout time.Duration
	// Guard checks each address before a direct connection to it, and the host of a request
	// through a proxy, which is not resolved here. It does not check the proxy, which the
	// operator has chosen. nil allows all.
	Guard Guard
}

// Transport returns a transport. The caller may set the rest of its fields before it is
// used.
func Transport(o Options) *http.Transport {
	used := &proxies{}
	return &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return o.proxy(r, used) },
		DialContext:         o.guarded(used),
		TLSHandshakeTimeout: o.Timeout, ResponseHeaderTimeout: o.Timeout, MaxResponseHeaderBytes: 64 << 10,
	}
}

// proxy is http.Transport.Proxy. It records which proxy is used.
func (o Options) proxy(r *http.Request, used *proxies) (*url.URL, error) {
	at, err := o.setting().For(r.URL)
	if at == nil && err == nil && o.Environment && o.setting() == (Proxy{}) {
		at, err = http.ProxyFromEnvironment(r)
	}
	if at == nil || err != nil {
		return nil, err
	}
	if err := o.Guard.CheckHost(r.URL.Hostname()); err != nil {
		return nil, err
	}
	used.add(at)
	return at, nil
}

// proxies holds the addresses of the proxies of a transport, as it dials them.
type proxies struct{ known sync.Map }

func (p *proxies) add(u *url.URL) {
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "socks5": "1080"}[u.Scheme], "80")
	p.known.Store(net.JoinHostPort(u.Hostname(), port), true)
}

func (p *proxies) has(address string) bool {
	_, is := p.known.Load(address)
	return is
}

func (o Options) setting() Proxy {
	if o.Proxy == nil {
		return Proxy{}
	}
	return o.Proxy()
}
