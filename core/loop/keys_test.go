package loop_test

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

type signer interface {
	crypto.Signer
	crypto.Decrypter
}

// slowKey is a private key that calls first before each operation.
type slowKey struct {
	signer
	first func()
}

func (k slowKey) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	k.first()
	return k.signer.Sign(rand, digest, opts)
}

func (k slowKey) Decrypt(rand io.Reader, msg []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	k.first()
	return k.signer.Decrypt(rand, msg, opts)
}

// slowConfig returns a server configuration whose RSA key calls first before each
// operation.
func slowConfig(first func(), change func(*tls.Config)) *tls.Config {
	return serverConfig(func(c *tls.Config) {
		c.Certificates[0].PrivateKey = slowKey{c.Certificates[0].PrivateKey.(signer), first}
		if change != nil {
			change(c)
		}
	}, "RSA")
}

func TestSlowKeyDoesNotHoldTheLoop(t *testing.T) {
	for name, change := range map[string]func(*tls.Config){
		"signature, TLS 1.3": nil,
		"signature, TLS 1.2": func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 },
		"decryption": func(c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
			c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			begun, block := make(chan bool, 1), make(chan bool)
			addr := secure(t, l, slowConfig(func() { begun <- true; <-block }, change), func(*loop.Conn) *probe { return echo(l) })
			done := make(chan error, 1)
			c := tls.Client(dial(t, addr), clientConfig(func(c *tls.Config) {
				c.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}
			}))
			go func() { done <- c.Handshake() }()
			<-begun
			plain := dial(t, serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) }))
			if _, err := plain.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(plain, make([]byte, 1)); err != nil {
				t.Errorf("the loop is held: %v", err)
			}
			close(block)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 5)
			if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, []byte("hello")) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestCloseDuringSigningLeaksNothing(t *testing.T) {
	l := start(t)
	begun, block := make(chan bool, 16), make(chan bool)
	var conn atomic.Pointer[loop.Conn]
	addr := secure(t, l, slowConfig(func() { begun <- true; <-block }, nil), func(c *loop.Conn) *probe {
		conn.Store(c)
		return &probe{connected: func(_ *loop.Conn, err error) { t.Errorf("outcome %v after Close", err) }}
	})
	c := dial(t, addr)
	go func() { _ = tls.Client(c, clientConfig(nil)).Handshake() }()
	<-begun
	on(l, func() { conn.Load().Close() })
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	close(block)
	time.Sleep(20 * time.Millisecond) // the worker's result has no receiver
	if n := open(l); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

// If many clients leave at once, signatures are computed only for those that a worker
// had begun.
func TestAbandonedHandshakesAreNotSigned(t *testing.T) {
	l := start(t)
	var signed atomic.Int32
	block := make(chan bool)
	addr := secure(t, l, slowConfig(func() { signed.Add(1); <-block }, nil), func(*loop.Conn) *probe { return &probe{} })
	const clients = 50
	for range clients {
		c := dial(t, addr)
		go func() { _ = tls.Client(c, clientConfig(nil)).Handshake() }()
	}
	eventually(t, "not all handshakes are under way", func() bool {
		n := 0
		on(l, func() { n, _ = l.Handshakes() })
		return n == clients
	})
	on(l, func() { l.Each(func(c *loop.Conn) { c.Close() }) })
	close(block)
	on(l, func() {})
	time.Sleep(50 * time.Millisecond)
	if n := signed.Load(); n > clients/2 {
		t.Errorf("%d signatures for %d clients that had left", n, clients)
	}
}

func TestPanicOnAWorkerCostsOnlyItsHandshake(t *testing.T) {
	l := start(t)
	outcomes := make(chan error, 1)
	var fail atomic.Bool
	fail.Store(true)
	addr := secure(t, l, slowConfig(func() {
		if fail.Load() {
			panic("a key's mistake")
		}
	}, nil), outcome(l, outcomes))
	if err := tls.Client(dial(t, addr), clientConfig(nil)).Handshake(); err == nil {
		t.Error("the client has a handshake")
	}
	if err := <-outcomes; err != loop.ErrPanic {
		t.Errorf("outcome %v", err)
	}
	fail.Store(false)
	dialTLS(t, addr, clientConfig(nil))
}

func TestEveryKindOfKeyServesBothSides(t *testing.T) {
	for _, kind := range []string{"P-256", "P-384", "Ed25519", "RSA"} {
		for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				l := start(t)
				addr := secure(t, l, serverConfig(func(c *tls.Config) {
					c.MaxVersion, c.ClientAuth, c.ClientCAs = version, tls.RequireAndVerifyClientCert, roots()
				}, kind), func(*loop.Conn) *probe { return echo(l) })
				config := clientConfig(func(c *tls.Config) { c.Certificates = []tls.Certificate{loop.Certificate(kind)} })
				loop.Prepare(config)
				got := exchange(t, l, addr, loop.Security{Config: config}, []byte("hello"))
				if string(got) != "hello" {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}

func TestKeyIsChosenByClientSupport(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(nil, "P-256", "RSA"), func(*loop.Conn) *probe { return echo(l) })
	for suite, want := range map[uint16]string{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "P-256",
		tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256:   "RSA",
	} {
		c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion, c.CipherSuites = tls.VersionTLS12, []uint16{suite} }))
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != want {
			t.Errorf("suite %x: certificate %s, want %s", suite, got, want)
		}
	}
}
