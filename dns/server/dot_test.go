package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
)

const ns1 = "ns1.example.com"

// certificate returns a self-signed certificate of ns1.
func certificate(t *testing.T) (c farm.Certificate, trusted *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{ns1}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(der)
	trusted = x509.NewCertPool()
	trusted.AddCert(parsed)
	return farm.Certificate{Name: "ns1.pem", Chain: [][]byte{der}, Key: private}, trusted
}

// encrypted returns an appliance whose farm also serves TLS at an address.
func encrypted(t *testing.T, before ...func(*appliance)) (a *appliance, at netip.AddrPort, client *tls.Config) {
	t.Helper()
	c, trusted := certificate(t)
	g := example()
	a = newAppliance(t, 1, g, before...)
	at = a.Listen(t, "127.0.0.1")
	a.farm.Global.TLS, a.farm.Global.TLSPort = &farm.TLS{Certificates: []string{c.Name}}, at.Port()
	a.gen++
	problems, err := a.engine.Publish(a.gen, &farm.Config{Farms: []farm.Farm{a.farm}, Certificates: []farm.Certificate{c}}, a.Files)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	return a, at, &tls.Config{RootCAs: trusted, ServerName: ns1, NextProtos: []string{"dot"}}
}

// padded returns a query of a client that pads (RFC 7830).
func padded(t *testing.T, question string) []byte {
	msg := query(t, question)
	binary.BigEndian.PutUint16(msg[10:], 1)
	if end := len(msg) - 11; end > 12 && msg[end] == 0 && msg[end+2] == 41 { // the option is added to its EDNS record
		msg = append(msg, 0, 12, 0, 3, 0, 0, 0)
		binary.BigEndian.PutUint16(msg[end+9:], 7)
		return msg
	}
	return append(msg, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 7, 0, 12, 0, 3, 0, 0, 0)
}

func TestQueriesOverTLSAreAnswered(t *testing.T) {
	records := newRecorder(t)
	records.Watch(7, true)
	a, at, client := encrypted(t, records.of)
	c, err := tls.Dial("tcp", at.String(), client)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.ConnectionState(); got.NegotiatedProtocol != "dot" || got.Version < tls.VersionTLS12 {
		t.Errorf("agreed on %q, version %x", got.NegotiatedProtocol, got.Version)
	}
	plain := query(t, "www.example.com A")
	if _, err := c.Write(append(framed(plain), framed(padded(t, "www.example.com A"))...)); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		reply := message(t, c)
		if got := read(t, reply); !same(got.answer, "www.example.com. 3600 IN A 192.0.2.10", "www.example.com. 3600 IN A 192.0.2.11") || got.flags&flagTC != 0 {
			t.Errorf("answered %v", got.answer)
		}
		if want := i == 1; (len(reply)%468 == 0) != want {
			t.Errorf("the client pads: %v, the answer has %d bytes", want, len(reply))
		}
	}
	if reply := a.exchange(padded(t, "www.example.com A"), true); len(reply)%468 == 0 {
		t.Errorf("an unencrypted answer is padded to %d bytes", len(reply))
	}
	if list := records.read(); len(list) != 3 || list[0].Proto != accesslog.ProtoDNSTLS || list[2].Proto != accesslog.ProtoDNSTCP {
		t.Errorf("%d records: %+v", len(list), list)
	}
}

// A certificate may change without the farm. If neither changes, the farm is compiled once.
func TestAnotherCertificateIsServedAtOnce(t *testing.T) {
	a, at, client := encrypted(t)
	publish := func(c farm.Certificate) uintptr {
		t.Helper()
		a.gen++
		if problems, err := a.engine.Publish(a.gen, &farm.Config{Farms: []farm.Farm{a.farm}, Certificates: []farm.Certificate{c}}, a.Files); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		c2, err := tls.Dial("tcp", at.String(), client)
		if err != nil {
			t.Fatal(err)
		}
		c2.Close()
		return a.engine.Compiled(a.farm.ID)
	}
	second, trusted := certificate(t)
	client.RootCAs = trusted
	if first := publish(second); publish(second) != first {
		t.Error("the farm was compiled again")
	}
	third, trusted := certificate(t)
	client.RootCAs = trusted
	publish(third)
}

// Without a farm with TLS, the engine keeps no certificates of other farms in memory.
func TestTicketKeysNeedATLSFarm(t *testing.T) {
	a, _, _ := encrypted(t)
	c, _ := certificate(t)
	cfg := &farm.Config{Farms: []farm.Farm{a.farm}, Certificates: []farm.Certificate{c}}
	publish := func() {
		t.Helper()
		a.gen++
		if problems, err := a.engine.Publish(a.gen, cfg, a.Files); err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
	}
	if publish(); !a.engine.HasCertificates(cfg) {
		t.Fatal("the store does not have the certificate")
	}
	cfg = &farm.Config{Certificates: cfg.Certificates}
	if publish(); a.engine.HasCertificates(cfg) {
		t.Error("the store keeps the certificate")
	}
}

func TestTLSPortRefusesPlainDNS(t *testing.T) {
	a, at, client := encrypted(t)
	c, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write(framed(query(t, "www.example.com A")))
	if got, err := io.ReadAll(c); len(got) > 0 {
		t.Errorf("in clear it is answered %x, %v", got, err)
	}
	client.NextProtos = []string{"h2"}
	if c, err := tls.Dial("tcp", at.String(), client); err == nil {
		c.Close()
		t.Error("another protocol is accepted")
	}
	client.NextProtos = nil
	if c, err := tls.Dial("tcp", at.String(), client); err != nil {
		t.Errorf("a client without ALPN: %v", err)
	} else {
		c.Close()
	}
	enginetest.Eventually(t, "no connection is counted any more", func() bool { return a.Segment.SumFarm(7).Established == 0 })
	silent, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	enginetest.Eventually(t, "who says nothing is counted", func() bool { return a.Segment.SumFarm(7).Established == 1 })
	_ = silent.Close()
	enginetest.Eventually(t, "and is not when it has gone", func() bool { return a.Segment.SumFarm(7).Established == 0 })
}

func TestAFarmWithoutItsCertificateIsRefused(t *testing.T) {
	a, at, client := encrypted(t)
	a.gen++
	_, err := a.engine.Publish(a.gen, &farm.Config{Farms: []farm.Farm{a.farm}}, a.Files)
	if err == nil || err.Error() != `farm "names": certificate "ns1.pem" is not there` {
		t.Errorf("refused with %v", err)
	}
	c, err := tls.Dial("tcp", at.String(), client) // existing connections continue
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
