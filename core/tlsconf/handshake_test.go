package tlsconf_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/tlsconf"
)

// outcome is the result of a handshake and one byte in each direction, for both sides.
type outcome struct {
	client, server    tls.ConnectionState
	clientErr, srvErr error
}

func (o *outcome) failed() bool { return o.clientErr != nil || o.srvErr != nil }

// cert returns the leaf that the server sent.
func (o *outcome) cert(t *testing.T) *x509.Certificate {
	t.Helper()
	if o.failed() || len(o.client.PeerCertificates) == 0 {
		t.Fatalf("no handshake: client %v, server %v", o.clientErr, o.srvErr)
	}
	return o.client.PeerCertificates[0]
}

// shake performs a handshake over loopback and sends a byte each way. The client has
// then read its tickets, or the alert about its certificate.
func shake(t testing.TB, server, client *tls.Config) *outcome {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var o outcome
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := l.Accept()
		if err != nil {
			o.srvErr = err
			return
		}
		defer raw.Close()
		c := tls.Server(raw, server)
		o.srvErr = exchange(c)
		o.server = c.ConnectionState()
	}()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	c := tls.Client(raw, client)
	o.clientErr = exchange(c)
	o.client = c.ConnectionState()
	raw.Close()
	<-done
	return &o
}

func exchange(c *tls.Conn) error {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if err := c.Handshake(); err != nil {
		return err
	}
	if _, err := c.Write([]byte{1}); err != nil {
		return err
	}
	_, err := io.ReadFull(c, make([]byte, 1))
	return err
}

// listen builds the configuration of a farm with ID 1 in a new store.
func listen(t testing.TB, cfg *farm.Config, l *farm.TLS) *tls.Config {
	t.Helper()
	return publish(t, tlsconf.NewStore(tlsconf.Options{}), cfg, 1, l)
}

// publish builds and commits the configuration of one farm.
func publish(t testing.TB, s *tlsconf.Store, cfg *farm.Config, id uint32, l *farm.TLS) *tls.Config {
	t.Helper()
	b := s.Begin(cfg)
	c, err := b.Listener(id, l)
	if err != nil {
		t.Fatal(err)
	}
	b.Commit()
	return c
}

// all returns settings with all certificates of a snapshot.
func all(cfg *farm.Config) *farm.TLS {
	l := &farm.TLS{}
	for i := range cfg.Certificates {
		l.Certificates = append(l.Certificates, cfg.Certificates[i].Name)
	}
	return l
}

// anyone returns a client without verification that sends name as SNI.
func anyone(name string) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ServerName: name}
}

// hello returns a ClientHello like a browser's.
func hello(name string) *tls.ClientHelloInfo {
	return &tls.ClientHelloInfo{
		ServerName: name, SupportedProtos: []string{"h2", "http/1.1"}, SupportedVersions: []uint16{tls.VersionTLS13, tls.VersionTLS12},
		CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256, ecdsaGCM, rsaGCM}, SupportedCurves: []tls.CurveID{tls.X25519},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256},
	}
}
