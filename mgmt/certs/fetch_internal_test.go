package certs

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// settings is a store without settings.
type settings struct{ Store }

func (settings) Setting(string) (string, bool) { return "", false }

// A responder is reached by name through the operator's proxy. Private addresses are never
// requested, even through the proxy.
func TestRespondersAreReachedThroughTheProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI)
		_, _ = io.WriteString(w, "answer")
	}))
	defer proxy.Close()
	m := &Manager{Book: &Book{store: settings{}, proxy: func() outbound.Proxy { return outbound.Proxy{Plain: proxy.URL} }}}
	client := m.client()
	defer client.CloseIdleConnections()
	got, err := ask(t.Context(), client, "http://ocsp.invalid/x", []byte("question"))
	if err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	for _, private := range []string{"http://10.0.0.1/x", "http://127.0.0.1:1/x"} {
		if _, err := ask(t.Context(), client, private, nil); err == nil || !strings.Contains(err.Error(), "is a private address") {
			t.Errorf("%s: %v", private, err)
		}
	}
	if len(asked) != 1 || asked[0] != "http://ocsp.invalid/x" {
		t.Errorf("the proxy got %q", asked)
	}
}

func TestPrivateAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.0.1": true, "169.254.169.254": true, "0.0.0.0": true, "0.1.2.3": true,
		"100.64.0.1": true, "198.18.0.1": true, "224.0.0.1": true, "255.255.255.255": true, "::1": true, "::": true, "fe80::1%eth0": true, "fd00::1": true,
		"::ffff:127.0.0.1": true, "::ffff:10.0.0.1": true, "64:ff9b::7f00:1": true, "64:ff9b::a00:1": true, "64:ff9b:1::1": true, "2002:7f00:1::": true, "ff02::1": true,
		"8.8.8.8": false, "203.0.113.9": false, "2001:db8::1": false, "64:ff9b::808:808": false, "::ffff:8.8.8.8": false, "172.32.0.1": false,
	} {
		if got := publicResponder(netip.MustParseAddr(text)) != nil; got != want {
			t.Errorf("to connect to %s is refused: got %v, want %v", text, got, want)
		}
	}
}

func TestResponderURLsAreValidated(t *testing.T) {
	for text, want := range map[string]bool{
		"http://ocsp.example/x": true, "https://ocsp.example": true, "file:///etc/passwd": false, "ldap://x": false, "http://": false, "http://u:p@x/": false, "": false, "gopher://x": false, "//x": false,
		"http://[": false, "http://x/" + strings.Repeat("a", 1024-9): true, "http://x/" + strings.Repeat("a", 1024-8): false,
	} {
		if got := checkURL(text) == nil; got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
