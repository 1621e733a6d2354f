package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

// A certificate is verified in the session, possibly also on the connection, or the client
// sent none.
func TestAnnouncementTellsOfTheCertificateOfTheClient(t *testing.T) {
	shown := []*x509.Certificate{{Subject: pkix.Name{CommonName: "me"}}}
	session := loop.TLS{Version: tls.VersionTLS13, Cipher: tls.TLS_AES_128_GCM_SHA256, Protocol: "h2", ServerName: "a.test"}
	const alpn, name = "\x01\x00\x02h2", "\x02\x00\x06a.test"
	const version, cipher = "\x21\x00\x07TLSv1.3", "\x23\x00\x16TLS_AES_128_GCM_SHA256"
	for what, c := range map[string]struct {
		edit func(t *loop.TLS)
		want string
	}{
		"none":           {func(*loop.TLS) {}, alpn + name + "\x20\x00\x28\x01\x00\x00\x00\x01" + version + cipher},
		"shown":          {func(t *loop.TLS) { t.Peer = shown }, alpn + name + "\x20\x00\x2d\x07\x00\x00\x00\x00" + version + "\x22\x00\x02me" + cipher},
		"shown before":   {func(t *loop.TLS) { t.Peer, t.Resumed = shown, true }, alpn + name + "\x20\x00\x2d\x05\x00\x00\x00\x00" + version + "\x22\x00\x02me" + cipher},
		"nothing agreed": {func(t *loop.TLS) { t.Protocol, t.ServerName = "", "" }, "\x20\x00\x28\x01\x00\x00\x00\x01" + version + cipher},
	} {
		tls := session
		c.edit(&tls)
		if got := string(appendTLVs([]byte("before"), &tls)); got != "before"+c.want {
			t.Errorf("%s: got %q, want %q", what, strings.TrimPrefix(got, "before"), c.want)
		}
	}
	if got := string(appendTLVs([]byte("before"), nil)); got != "before" {
		t.Errorf("without TLS: got %q", got)
	}
}
