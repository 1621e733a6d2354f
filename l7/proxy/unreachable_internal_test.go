package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// The same error has two meanings. Either the source address is missing, which affects all
// clients, or clients use all of its ports, which is temporary.
func TestOnlyASourceAddressThatIsNotHereSpeaksAgainstTheBackend(t *testing.T) {
	for _, c := range []struct {
		err               error
		bind, isOfMachine bool
	}{
		{os.NewSyscallError("bind", syscall.EADDRNOTAVAIL), true, true},
		{fmt.Errorf("more: %w", os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)), true, true},
		{os.NewSyscallError("connect", syscall.EADDRNOTAVAIL), false, true},
		{os.NewSyscallError("bind", syscall.EACCES), false, false},
		{os.NewSyscallError("socket", syscall.EMFILE), false, true},
		{os.NewSyscallError("connect", syscall.ECONNREFUSED), false, false},
	} {
		if isBind(c.err) != c.bind || lacking(c.err) != c.isOfMachine {
			t.Errorf("%v: bind %t, of this machine %t", c.err, isBind(c.err), lacking(c.err))
		}
	}
}

// Handshake errors are described by fixed texts. Bytes from the peer must not appear.
func TestAHandshakeThatFailedIsExplained(t *testing.T) {
	now := time.Now()
	ca := certstest.NewAuthority(t, "ca", now)
	good := ca.Issue("a.test")
	old := ca.Issue("a.test", func(c *x509.Certificate) { c.NotAfter = now.Add(-time.Hour) })
	client := ca.Issue("a.test", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })
	trusted := x509.NewCertPool()
	trusted.AddCert(ca.Cert)
	// handshake returns the error of a client whose server runs serve.
	handshake := func(config *tls.Config, serve func(c net.Conn)) error {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			if c, err := ln.Accept(); err == nil {
				serve(c)
				_ = c.Close()
			}
		}()
		ours, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer ours.Close()
		return &loop.HandshakeError{Err: tls.Client(ours, config).Handshake()}
	}
	shows := func(a *certstest.Authority) func(net.Conn) {
		return func(c net.Conn) {
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{a.TLS()}}).Handshake()
		}
	}
	strict := &tls.Config{ServerName: "a.test", RootCAs: trusted}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"another name":      {handshake(&tls.Config{ServerName: "b.test", RootCAs: trusted}, shows(good)), "the certificate of the backend is for other names than the request's"},
		"another authority": {handshake(&tls.Config{ServerName: "a.test", RootCAs: x509.NewCertPool()}, shows(good)), "the certificate of the backend is from an authority that is not trusted"},
		"expired":           {handshake(strict, shows(old)), "the certificate of the backend is not valid now"},
		"not for servers":   {handshake(strict, shows(client)), "the certificate of the backend is not valid"},
		"no TLS": {handshake(strict, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		}), "the backend does not speak TLS"},
		"refused": {handshake(strict, func(c net.Conn) {
			_ = tls.Server(c, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("secret") }}).Handshake()
		}), "the backend refused the handshake: tls: internal error"},
		"ended":     {handshake(strict, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)) }), "the backend ended the connection in the handshake"},
		"half":      {fmt.Errorf("more: %w", io.ErrUnexpectedEOF), "the backend ended the connection in the handshake"},
		"reset":     {os.NewSyscallError("read", syscall.ECONNRESET), "the backend ended the connection in the handshake"},
		"broken":    {os.NewSyscallError("write", syscall.EPIPE), "the backend ended the connection in the handshake"},
		"late":      {&loop.HandshakeError{Err: loop.ErrTimeout}, "the handshake was not complete in time"},
		"otherwise": {&net.OpError{Op: "local error", Err: errors.New("tls: whatever")}, "the handshake failed"},
	} {
		if got := shakeReason(c.err); got != c.want {
			t.Errorf("%s: %v is described as %q, want %q", name, c.err, got, c.want)
		}
	}
}
