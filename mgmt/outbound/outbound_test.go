package outbound_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

func TestAddressesOfProxiesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "http://p:3128": "", "p:3128": "", "https://p.example.com": "", "socks5://[::1]:1080/": "", "http://user:pw@p:1": "",
		"ftp://p:1": "ftp:// is none", "http://": "not a host", "http://p/x": "not a host", "http://p?x": "not a host", "http://p#x": "not a host",
		"http://p :1": "no address", "http://p:x": "no address", "p\n": "no address", strings.Repeat("x", 1025): "no address",
	} {
		err := outbound.CheckProxy(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestEachSchemeHasItsProxyAndThisMachineNone(t *testing.T) {
	p := outbound.Proxy{Plain: "plain:1", Secure: "http://secure:2"}
	for to, want := range map[string]string{
		"http://example.com": "http://plain:1", "https://example.com": "http://secure:2",
		"http://localhost:1/": "", "http://127.0.0.5": "", "https://[::1]:3": "", "https://[::ffff:127.0.0.1]": "",
	} {
		u, _ := url.Parse(to)
		got, err := p.For(u)
		if err != nil || want == "" && got != nil || want != "" && (got == nil || got.String() != want) {
			t.Errorf("the proxy for %s is %v, %v; want %q", to, got, err, want)
		}
	}
	u, _ := url.Parse("http://example.com")
	if got, err := (outbound.Proxy{Secure: "secure:2"}).For(u); got != nil || err != nil {
		t.Errorf("the proxy is %v, %v", got, err)
	}
	if got, err := (outbound.Proxy{Plain: "x://y"}).For(u); got != nil || err == nil {
		t.Errorf("a broken setting is ignored: %v", got)
	}
}

// proxy is a proxy that answers requests itself.
func proxy(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "proxy: "+r.Method+" "+r.RequestURI)
	}))
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, o outbound.Options, at string) (string, error) {
	t.Helper()
	o.Timeout = 5 * time.Second
	transport := outbound.Transport(o)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get(at)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestRequestsUseTheCurrentProxy(t *testing.T) {
	var now outbound.Proxy
	o := outbound.Options{Proxy: func() outbound.Proxy { return now }}
	if got, err := ask(t, o, "http://no-such-host.invalid/x"); err == nil {
		t.Errorf("without a proxy it answers %q", got)
	}
	now.Plain = proxy(t).URL
	if got, err := ask(t, o, "http://no-such-host.invalid/x"); err != nil || got != "proxy: GET http://no-such-host.invalid/x" {
		t.Errorf("got %q, %v, want %q", got, err, "proxy: GET http://no-such-host.invalid/x")
	}
}

// A secure address is requested with CONNECT; the proxy sees only the host.
func TestSecureRequestsAreTunnelled(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	seen := make(chan string, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		line, _ := bufio.NewReader(c).ReadString('\n')
		seen <- line
	}()
	_, err = ask(t, outbound.Options{Proxy: func() outbound.Proxy { return outbound.Proxy{Secure: ln.Addr().String()} }}, "https://ca.invalid/dir")
	if got := <-seen; got != "CONNECT ca.invalid:443 HTTP/1.1\r\n" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

// The guard checks the destination, not the proxy.
func TestAGuardSeesAddressesButNotTheProxy(t *testing.T) {
	refused := errors.New("not there")
	var set outbound.Proxy
	o := outbound.Options{
		Proxy: func() outbound.Proxy { return set },
		Guard: func(addr netip.Addr) error {
			return map[string]error{"10.0.0.1": refused, "127.0.0.1": refused}[addr.String()]
		},
	}
	server := proxy(t)
	if _, err := ask(t, o, server.URL); !errors.Is(err, refused) {
		t.Errorf("sent without the proxy: %v", err)
	}
	set.Plain = server.URL
	if got, err := ask(t, o, "http://example.invalid/"); err != nil || got != "proxy: GET http://example.invalid/" {
		t.Errorf("got %q, %v, want %q", got, err, "proxy: GET http://example.invalid/")
	}
	if _, err := ask(t, o, "http://10.0.0.1/"); !errors.Is(err, refused) {
		t.Errorf("a host that is guarded: %v", err)
	}
}

func TestTheEnvironmentCountsOnlyWithoutASetting(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://env.invalid:1") // read once in a process
	r, _ := http.NewRequest(http.MethodGet, "http://example.com", nil)
	for name, c := range map[string]struct {
		o    outbound.Options
		want string
	}{
		"allowed":     {outbound.Options{Environment: true}, "http://env.invalid:1"},
		"not allowed": {outbound.Options{}, ""},
		"a setting":   {outbound.Options{Environment: true, Proxy: func() outbound.Proxy { return outbound.Proxy{Secure: "p:1"} }}, ""},
	} {
		got, err := outbound.Transport(c.o).Proxy(r)
		if err != nil || c.want == "" && got != nil || c.want != "" && (got == nil || got.String() != c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
