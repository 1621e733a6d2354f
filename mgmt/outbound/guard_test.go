package outbound_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// The guards differ by purpose: L refuses this machine, M metadata services and addresses
// without servers, P every address that is not global.
func TestGuardsCheckEmbeddedAddresses(t *testing.T) {
	for text, refused := range map[string]string{
		"127.0.0.1": "LP", "127.8.8.8": "LP", "::1": "LP", "::ffff:127.0.0.1": "LP", "0.0.0.0": "LMP", "0.1.2.3": "LP", "::": "LMP",
		"64:ff9b::7f00:1": "LP", "2002:7f00:1::1": "LP", "::127.0.0.1": "LP", "64:ff9b:1::7f00:1": "LP", "fe80::5efe:7f00:1%eth0": "LMP",
		"2001:db8::5efe:7f00:1": "LP", "2001:db8::200:5efe:a9fe:a9fe": "LMP", "2001:db8::100:5efe:a9fe:a9fe": "",
		"169.254.169.254": "LMP", "::ffff:169.254.169.254": "LMP", "64:ff9b::a9fe:a9fe": "LMP", "64:ff9b:1::a9fe:a9fe": "LMP", "2002:a9fe:a9fe::": "LMP", "::a9fe:a9fe": "LMP",
		"2001:0:a9fe:a9fe::": "LMP", "2001:0:808:808:0:0:5601:5601": "LMP", "2001:0:808:808:0:0:8080:8080": "LP", "fd00:ec2::254": "LMP", "fd00:ec2::253": "P", "fd20:ce::254": "LMP",
		"168.63.129.16": "LMP", "168.63.129.17": "", "100.100.100.200": "LMP", "100.100.100.201": "P", "192.0.0.192": "LMP", "64:ff9b::a83f:8110": "LMP",
		"fe80::1": "LMP", "224.0.0.1": "LMP", "ff02::1": "LMP",
		"10.0.0.1": "P", "192.168.1.1": "P", "172.16.0.1": "P", "fd00::1": "P", "64:ff9b::a00:1": "P", "2002:a00:1::": "P", "2001::1": "LMP",
		"8.8.8.8": "", "2600::1": "", "64:ff9b::808:808": "",
	} {
		addr := netip.MustParseAddr(text)
		for name, guard := range map[string]outbound.Guard{"L": outbound.Remote, "M": outbound.Reachable, "P": outbound.Public} {
			if err := guard(addr); (err != nil) != (strings.Contains(refused, name) || name == "L" && strings.Contains(refused, "M")) {
				t.Errorf("%s, guard %s: %v", text, name, err)
			}
		}
	}
}

func TestLocalHostNamesAreRecognized(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "LOCALHOST.": true, "a.localhost": true, "127.0.0.1": true, "::1": true, "example.com": false, "10.0.0.1": false} {
		if err := outbound.Guard(outbound.Remote).CheckHost(host); (err != nil) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := outbound.Guard(nil).CheckHost("127.0.0.1"); err != nil {
		t.Errorf("no guard refuses: %v", err)
	}
}

func TestAllowedAddressesArePermitted(t *testing.T) {
	for text, want := range map[string]string{"": "[]", "127.0.0.1": "[127.0.0.1/32]", " 127.0.0.9/8 ,::1,": "[127.0.0.0/8 ::1/128]", "x": "", "127.0.0.1/33": "", "10.0.0.1:80": ""} {
		list, err := outbound.ParseAllowed(text)
		if want == "" && err == nil || want != "" && (err != nil || fmt.Sprint(list) != want) {
			t.Errorf("%q: %v, %v", text, list, err)
		}
	}
	t.Cleanup(func() { outbound.Allow(nil) })
	outbound.Allow([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	if err := outbound.Guard(outbound.Remote).CheckHost("127.0.0.1"); err != nil {
		t.Error(err)
	}
	if err := outbound.Guard(outbound.Remote).CheckHost("169.254.169.254"); err == nil {
		t.Error("a forbidden address gets a request")
	}
}

// A name with an address of this machine at the time of the connection is refused,
// independently of its earlier addresses.
func TestNamesAreCheckedAtConnectTime(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	transport := outbound.Transport(outbound.Options{Timeout: 5 * time.Second, Guard: outbound.Remote})
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, host := range []string{"localhost", "127.0.0.1", "0.0.0.0", "[::ffff:127.0.0.1]"} {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+":"+port+"/", nil)
		if resp, err := transport.RoundTrip(r); err == nil {
			resp.Body.Close()
			t.Errorf("%s gets a request", host)
		}
	}
	if asked {
		t.Error("this machine got a request")
	}
}
