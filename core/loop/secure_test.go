package loop_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// serverConfig returns a prepared configuration with certificates of the given kinds.
// change, if not nil, may modify it first.
func serverConfig(change func(*tls.Config), kinds ...string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS10}
	for _, kind := range kinds {
		config.Certificates = append(config.Certificates, loop.Certificate(kind))
	}
	if change != nil {
		change(config)
	}
	loop.Prepare(config)
	return config
}

// clientConfig returns a configuration that trusts the certificates of all kinds.
func clientConfig(change func(*tls.Config)) *tls.Config {
	config := &tls.Config{RootCAs: roots(), ServerName: "loop.test", MinVersion: tls.VersionTLS10}
	if change != nil {
		change(config)
	}
	return config
}

func roots() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, kind := range []string{"P-256", "P-384", "Ed25519", "RSA"} {
		pool.AddCert(loop.Certificate(kind).Leaf)
	}
	return pool
}

// secure is serve for TLS connections.
func secure(t *testing.T, l *loop.Loop, config *tls.Config, handler func(c *loop.Conn) *probe) string {
	t.Helper()
	return serve(t, l, func(c *loop.Conn) {
		c.Secure(loop.Security{Config: config})
		c.SetHandler(handler(c))
	})
}

// outcome returns probes that send the outcomes of their handshakes to the channel, and
// echo after a successful one.
func outcome(l *loop.Loop, to chan<- error) func(*loop.Conn) *probe {
	return func(*loop.Conn) *probe {
		p := echo(l)
		p.connected = func(_ *loop.Conn, err error) { to <- err }
		return p
	}
}

func dialTLS(t *testing.T, addr string, config *tls.Config) *tls.Conn {
	t.Helper()
	c := tls.Client(dial(t, addr), config)
	if err := c.Handshake(); err != nil {
		t.Fatalf("client: %v", err)
	}
	return c
}

var allVersions = map[string]uint16{
	"TLS 1.0": tls.VersionTLS10, "TLS 1.1": tls.VersionTLS11, "TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13,
}

func TestSecureEchoDeliversEveryByteBothWaysToASlowReader(t *testing.T) {
	const size = 10 << 20
	sent := make([]byte, size)
	for i := range sent {
		sent[i] = byte(i>>12) ^ byte(i*31)
	}
	for name, version := range allVersions {
		for _, kind := range []string{"P-256", "RSA"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				l := start(t)
				var conn atomic.Pointer[loop.Conn]
				addr := secure(t, l, serverConfig(nil, kind), func(c *loop.Conn) *probe { conn.Store(c); return echo(l) })
				c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
				if got := c.ConnectionState().Version; got != version {
					t.Fatalf("version %x, want %x", got, version)
				}
				go func() {
					_, _ = c.Write(sent)
					_ = c.CloseWrite()
				}()
				h, most := sha256.New(), 0
				n, err := io.Copy(h, slowly{c, func() {
					on(l, func() { most = max(most, conn.Load().Pending()) })
				}})
				if err != nil || n != size {
					t.Fatalf("%d bytes came back, %v; want %d", n, err, size)
				}
				if [32]byte(h.Sum(nil)) != sha256.Sum256(sent) {
					t.Error("the echoed bytes differ")
				}
				// The bytes of one read, plus the overhead of records and of the 1/n-1
				// split against BEAST.
				if most > loop.ReadSize+loop.ReadSize/8 {
					t.Errorf("%d bytes were held for the slow reader", most)
				}
			})
		}
	}
}

// slowly is a reader that calls look now and then.
type slowly struct {
	io.Reader
	look func()
}

func (s slowly) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if n > 0 && p[0]%64 == 0 {
		s.look()
		time.Sleep(time.Millisecond)
	}
	return n, err
}

// pieces is a net.Conn that writes a few bytes at a time.
type pieces struct {
	net.Conn
	size int
}

func (c pieces) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += c.size {
		if _, err := c.Conn.Write(p[n:min(len(p), n+c.size)]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

func TestSecureConnectionServesAClientThatDrips(t *testing.T) {
	sent := bytes.Repeat([]byte("drip"), 2000)
	for name, version := range allVersions {
		for _, size := range []int{1, 7, 1000} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				l := start(t)
				addr := secure(t, l, serverConfig(nil, "P-256", "RSA"), func(*loop.Conn) *probe { return echo(l) })
				c := tls.Client(pieces{dial(t, addr), size}, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
				go func() {
					_, _ = c.Write(sent)
					_ = c.CloseWrite()
				}()
				got, err := io.ReadAll(c)
				if err != nil || !bytes.Equal(got, sent) {
					t.Fatalf("%d bytes came back, %v; want %d", len(got), err, len(sent))
				}
			})
		}
	}
}

func TestHandshakeReportsNegotiatedParameters(t *testing.T) {
	l := start(t)
	asks := make(chan [2]string, 1) // server name and protocols seen by callbacks
	config := serverConfig(func(c *tls.Config) {
		c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			if _, ends := hello.Context().Deadline(); ends || hello.Context().Err() != nil || hello.Context().Value("") != nil {
				t.Error("the context of a handshake ends, or holds something")
			}
			asks <- [2]string{hello.Conn.RemoteAddr().String(), hello.Conn.LocalAddr().String()}
			return nil, nil
		}
		c.NextProtos = []string{"h2", "http/1.1"}
		c.ClientAuth = tls.RequireAndVerifyClientCert
		c.ClientCAs = roots()
	}, "P-256")
	for _, kind := range []string{"P-256", "RSA", "Ed25519"} {
		agreed := make(chan loop.TLS, 1)
		addr := secure(t, l, config, func(c *loop.Conn) *probe {
			if !c.Secured() || c.TLS() != nil {
				t.Error("TLS tells something before the handshake")
			}
			return &probe{connected: func(c *loop.Conn, err error) {
				if err != nil {
					t.Errorf("outcome %v", err)
					agreed <- loop.TLS{}
					return
				}
				agreed <- *c.TLS()
			}}
		})
		c := dialTLS(t, addr, clientConfig(func(c *tls.Config) {
			c.NextProtos = []string{"http/1.1"}
			c.Certificates = []tls.Certificate{loop.Certificate(kind)}
		}))
		got, want := <-agreed, c.ConnectionState()
		if got.Version != tls.VersionTLS13 || got.Cipher != want.CipherSuite || got.Curve != want.CurveID || got.Resumed {
			t.Errorf("agreed on %+v, the client on %+v", got, want)
		}
		if told := <-asks; told != [2]string{c.LocalAddr().String(), c.RemoteAddr().String()} {
			t.Errorf("callbacks got %q", told)
		}
		if got.Protocol != "http/1.1" || got.ServerName != "loop.test" {
			t.Errorf("protocol %q, server name %q", got.Protocol, got.ServerName)
		}
		if len(got.Peer) != 1 || got.Peer[0].Subject.CommonName != kind || len(got.Chains) == 0 {
			t.Errorf("the client's certificate is missing: %v", got.Peer)
		}
	}
}

func TestPlainHTTPOnASecurePortIsHandedOverUnread(t *testing.T) {
	var plain uint64
	l, err := loop.New(&loop.Counters{PlainOnTLS: &plain})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	outcomes := make(chan error, 1)
	addr := secure(t, l, serverConfig(nil, "P-256"), outcome(l, outcomes))
	c := dial(t, addr)
	const request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for i := range request {
		if _, err := c.Write([]byte(request[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-outcomes; err != loop.ErrPlain {
		t.Fatalf("outcome %v, want ErrPlain", err)
	}
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != request {
		t.Errorf("got %q, %v", got, err)
	}
	on(l, func() {
		if plain != 1 {
			t.Errorf("%d plain connections counted", plain)
		}
	})
}
