package certs

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPrivateAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "10.1.2.3": true, "172.16.0.1": true, "192.168.0.1": true, "169.254.169.254": true, "0.0.0.0": true, "0.1.2.3": true,
		"100.64.0.1": true, "198.18.0.1": true, "224.0.0.1": true, "255.255.255.255": true, "::1": true, "::": true, "fe80::1%eth0": true, "fd00::1": true,
		"::ffff:127.0.0.1": true, "::ffff:10.0.0.1": true, "64:ff9b::7f00:1": true, "64:ff9b::a00:1": true, "64:ff9b:1::1": true, "2002:7f00:1::": true, "ff02::1": true,
		"8.8.8.8": false, "203.0.113.9": false, "2001:db8::1": false, "64:ff9b::808:808": false, "::ffff:8.8.8.8": false, "172.32.0.1": false,
	} {
		if got := private(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if got := publicOnly("tcp", netip.AddrPortFrom(netip.MustParseAddr(text), 80).String(), nil) != nil; got != want {
			t.Errorf("to connect to %s is refused: %v", text, got)
		}
	}
	if publicOnly("tcp", "localhost:80", nil) == nil {
		t.Error("a name is taken for an address")
	}
}

func TestResponderAddressesThatAreAsked(t *testing.T) {
	for text, want := range map[string]bool{
		"http://ocsp.example/x": true, "https://ocsp.example": true, "file:///etc/passwd": false, "ldap://x": false, "http://": false, "http://u:p@x/": false, "": false, "gopher://x": false, "//x": false,
		"http://[": false, "http://x/" + strings.Repeat("a", 1024-9): true, "http://x/" + strings.Repeat("a", 1024-8): false,
	} {
		if got := checkURL(text) == nil; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
