package tcp_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/probe/probetest"
	"github.com/sluicelb/sluice/mgmt/probe/tcp"
)

// secured starts a TLS server with a greeting. Its certificate for shop.example is valid
// for some more days, and its CA is not trusted.
func secured(t *testing.T, days int) (to probe.Target, asked func() string) {
	t.Helper()
	authority := certstest.NewAuthority(t, "house", time.Now())
	leaf := authority.Issue("shop.example", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(time.Duration(days)*24*time.Hour + time.Hour) })
	names := make(chan string, 10)
	config := &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		names <- h.ServerName
		c := leaf.TLS()
		return &c, nil
	}, MaxVersion: tls.VersionTLS12}
	to = probetest.Server(t, func(c net.Conn) {
		s := tls.Server(c, config)
		if s.Handshake() == nil {
			_, _ = io.WriteString(s, "+OK ready\r\n")
		}
		_, _ = io.Copy(io.Discard, s)
	})
	to.Name = "shop.example"
	return to, func() string { return <-names }
}

func TestHandshakeAndCertificateAreJudged(t *testing.T) {
	to, asked := secured(t, 20)
	probetest.Check(t, "check_tls", tcp.TLS, to, "-H", "HOST", "-p", "PORT", "-D", "19").Healthy(t)
	if name := asked(); name != "shop.example" {
		t.Errorf("the server name is %q, want %q", name, "shop.example")
	}
	probetest.Check(t, "check_tls", tcp.TLS, to, "-p", "PORT", "-D", "21,7", "--sni", "other.example").Down(t, "the certificate ends in 20 days, wanted more than 21")
	if name := asked(); name != "other.example" {
		t.Errorf("the server name is %q, want %q", name, "other.example")
	}
	probetest.Check(t, "check_tls", tcp.TLS, to, "-S1.3").Down(t, "protocol version")
	probetest.Check(t, "check_tls", tcp.TLS, to, "-S1.2").Healthy(t)
	probetest.Check(t, "check_tls", tcp.TLS, to, "-S1.1+").Healthy(t)
	probetest.Check(t, "check_tls", tcp.TLS, to, "--verify").Down(t, "certificate signed by unknown authority")
	over, _ := secured(t, -1)
	probetest.Check(t, "check_tls", tcp.TLS, over, "-D", "1").Down(t, "the certificate ended on")
	probetest.Check(t, "check_tls", tcp.TLS, over).Healthy(t)
	probetest.Check(t, "check_tls", tcp.TLS, probetest.Replies(t, "+OK\r\n")).Down(t, "does not look like a TLS handshake")
}

func TestConversationsAreHeldOverTLS(t *testing.T) {
	to, _ := secured(t, 20)
	probetest.Check(t, "check_tcp", tcp.Check, to, "-S", "-e", "+OK", "-D", "10").Healthy(t)
	probetest.Check(t, "check_tcp", tcp.Check, to, "-S", "-e", "+OK", "-D", "30").Down(t, "wanted more than 30")
	probetest.Check(t, "check_spop", tcp.Services()["check_spop"], to, "-p", "PORT").Healthy(t)
	probetest.Check(t, "check_tcp", tcp.Check, to, "-D", "10").Healthy(t) // -D implies -S
	probetest.Check(t, "check_tcp", tcp.Check, to, "-D", "20").Down(t, "ends in 20 days")
	probetest.Check(t, "check_tcp", tcp.Check, to, "-D", "10,20").Down(t, "ends in 20 days")
	over, _ := secured(t, -1)
	probetest.Check(t, "check_tcp", tcp.Check, over, "-D", "0").Down(t, "ended on")
}
