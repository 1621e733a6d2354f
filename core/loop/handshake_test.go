package loop_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// open returns the number of connections of a loop.
func open(l *loop.Loop) (n int) {
	on(l, func() { l.Each(func(*loop.Conn) { n++ }) })
	return n
}

// eventually waits for ok to return true, for at most five seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// flights runs a handshake with the server at addr and returns the client's flights.
func flights(t *testing.T, addr string, config *tls.Config) [][]byte {
	t.Helper()
	r := &recorder{Conn: dial(t, addr)}
	c := tls.Client(r, config)
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	return r.said
}

type recorder struct {
	net.Conn
	said [][]byte
}

func (r *recorder) Write(p []byte) (int, error) {
	r.said = append(r.said, bytes.Clone(p))
	return r.Conn.Write(p)
}

// cutter ends the connection after left bytes have been written.
type cutter struct {
	*net.TCPConn
	left  int
	reset bool
}

func (c *cutter) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		if c.reset {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
		err = net.ErrClosed
	}
	return n, err
}

func TestAbortedHandshakeLeaksNothing(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		for _, kind := range []string{"P-256", "RSA"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				l := start(t)
				outcomes := make(chan error, 8)
				addr := secure(t, l, serverConfig(nil, kind), outcome(l, outcomes))
				config := clientConfig(func(c *tls.Config) { c.MaxVersion = version })
				total := 0
				for _, f := range flights(t, addr, config) {
					total += len(f)
				}
				<-outcomes
				for cut := 1; cut < total-1; cut += max(1, total/25) {
					for _, reset := range []bool{false, true} {
						c := &cutter{TCPConn: dial(t, addr), left: cut, reset: reset}
						if err := tls.Client(c, config).Handshake(); err == nil {
							t.Fatalf("the client has a handshake after %d bytes", cut)
						}
						if err := <-outcomes; err == nil {
							t.Errorf("cut after %d of %d bytes: no failure", cut, total)
						}
					}
				}
				eventually(t, "connections are left", func() bool { return open(l) == 0 })
				on(l, func() {
					if flying, waiting := l.Handshakes(); flying != 0 || waiting != 0 {
						t.Errorf("%d handshakes under way, %d waiting", flying, waiting)
					}
				})
			})
		}
	}
}

func TestManyAbortedHandshakesLeakNothing(t *testing.T) {
	l := start(t)
	outcomes := make(chan error, 600)
	addr := secure(t, l, serverConfig(nil, "P-256"), outcome(l, outcomes))
	hello := flights(t, addr, clientConfig(nil))[0]
	<-outcomes
	var conns []*net.TCPConn
	for range 200 {
		c := dial(t, addr)
		if _, err := c.Write(hello[:len(hello)-1]); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	eventually(t, "not all handshakes are under way", func() bool {
		n := 0
		on(l, func() { n, _ = l.Handshakes() })
		return n == len(conns)
	})
	for i, c := range conns[:100] {
		if i%2 == 0 {
			_ = c.SetLinger(0)
		}
		_ = c.Close()
	}
	on(l, func() { l.Each(func(c *loop.Conn) { c.Close() }) }) // as an operator would
	eventually(t, "connections are left", func() bool { return open(l) == 0 })
	c := dialTLS(t, addr, clientConfig(nil))
	_, _ = c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("the loop serves no more: %v", err)
	}
}

func TestStoppingALoopEndsItsHandshakes(t *testing.T) {
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	block := make(chan struct{})
	config := serverConfig(func(c *tls.Config) {
		c.Certificates[0].PrivateKey = slowKey{c.Certificates[0].PrivateKey.(signer), func() { <-block }}
	}, "RSA")
	addr := secure(t, l, config, outcome(l, make(chan error, 8)))
	c := dial(t, addr)
	go func() { _ = tls.Client(c, clientConfig(nil)).Handshake() }()
	eventually(t, "no handshake under way", func() bool {
		n := 0
		on(l, func() { n, _ = l.Handshakes() })
		return n == 1
	})
	time.AfterFunc(50*time.Millisecond, func() { close(block) })
	l.Stop() // goleak detects remains
}

func TestFailedHandshakeIsReportedAndSendsAnAlert(t *testing.T) {
	var failed uint64
	l, err := loop.New(&loop.Counters{HandshakesFailed: &failed})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	outcomes := make(chan error, 1)
	addr := secure(t, l, serverConfig(func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.ClientAuth = tls.RequireAnyClientCert
	}, "P-256"), outcome(l, outcomes))
	for _, test := range []struct {
		name, client, server string
		change               func(*tls.Config)
	}{
		{"an old version", "protocol version not supported", "unsupported versions", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 }},
		{"no certificate, TLS 1.3", "certificate required", "didn't provide a certificate", func(*tls.Config) {}},
		{"no certificate, TLS 1.2", "handshake failure", "didn't provide a certificate", func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }},
		{"a client that distrusts", "not other.test", "bad certificate", func(c *tls.Config) { c.ServerName = "other.test" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := tls.Client(dial(t, addr), clientConfig(test.change))
			err := c.Handshake()
			if err == nil { // TLS 1.3 clients complete before the server has verified their certificate
				_, err = c.Write(make([]byte, 100))
			}
			if err == nil {
				_, err = c.Read(make([]byte, 1))
			}
			if err == nil || !strings.Contains(err.Error(), test.client) {
				t.Errorf("the client hears %v, want %q", err, test.client)
			}
			if err := <-outcomes; err == nil || !strings.Contains(err.Error(), test.server) {
				t.Errorf("outcome %v, want %q", err, test.server)
			}
		})
	}
	eventually(t, "connections are left", func() bool { return open(l) == 0 })
	on(l, func() {
		if failed != 4 {
			t.Errorf("%d failures counted, want 4", failed)
		}
	})
}

func TestDeadlineBoundsTheHandshake(t *testing.T) {
	for _, said := range []int{0, 1, 100} {
		t.Run(fmt.Sprintf("after %d bytes", said), func(t *testing.T) {
			l := start(t)
			expired := make(chan bool, 1)
			addr := secure(t, l, serverConfig(nil, "P-256"), func(c *loop.Conn) *probe {
				c.SetDeadline(l.Now() + int64(200*time.Millisecond))
				return &probe{
					expired:   func(c *loop.Conn) { c.Close(); expired <- true },
					connected: func(_ *loop.Conn, err error) { t.Errorf("outcome %v after Close", err) },
					readable:  func(*loop.Conn) { t.Error("readable before the handshake is complete") },
				}
			})
			hello := append([]byte{0x16, 3, 1, 2, 0}, make([]byte, 200)...)
			c := dial(t, addr)
			_, _ = c.Write(hello[:said])
			select {
			case <-expired:
			case <-time.After(5 * time.Second):
				t.Fatal("the deadline did not end the handshake")
			}
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
				t.Errorf("read %v", err)
			}
		})
	}
}

// A handler that checks Closed must not end the linger during which the alert is sent.
func TestFailedHandshakeLeavesTheConnectionClosedForItsHandler(t *testing.T) {
	l := start(t)
	closed := make(chan bool, 1)
	addr := secure(t, l, serverConfig(func(c *tls.Config) { c.MinVersion = tls.VersionTLS13 }, "P-256"), func(*loop.Conn) *probe {
		return &probe{connected: func(c *loop.Conn, _ error) { closed <- c.Closed() }}
	})
	err := tls.Client(dial(t, addr), clientConfig(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })).Handshake()
	if err == nil || !<-closed {
		t.Errorf("the client hears %v, or the connection is not closed", err)
	}
}

func TestPanicInACallbackCostsOnlyItsHandshake(t *testing.T) {
	var panics uint64
	l, err := loop.New(&loop.Counters{Panics: &panics})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	outcomes := make(chan error, 1)
	addr := secure(t, l, serverConfig(func(c *tls.Config) {
		certificate := &c.Certificates[0]
		c.Certificates = nil
		c.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if hello.ServerName == "panic.test" {
				panic("a callback's mistake")
			}
			return certificate, nil
		}
	}, "P-256"), outcome(l, outcomes))
	err = tls.Client(dial(t, addr), clientConfig(func(c *tls.Config) { c.ServerName = "panic.test" })).Handshake()
	if err == nil {
		t.Error("the client has a handshake")
	}
	if err := <-outcomes; err != loop.ErrPanic {
		t.Errorf("outcome %v", err)
	}
	dialTLS(t, addr, clientConfig(nil))
	on(l, func() {
		if panics != 1 {
			t.Errorf("%d panics counted", panics)
		}
	})
}

// TestHelloOfAnySize sends a ClientHello with the padding extension, up to the 64 KiB
// that crypto/tls accepts.
func TestHelloOfAnySize(t *testing.T) {
	l := start(t)
	outcomes := make(chan error, 1)
	addr := secure(t, l, serverConfig(nil, "P-256"), outcome(l, outcomes))
	hello := flights(t, addr, clientConfig(nil))[0]
	<-outcomes
	for _, test := range []struct {
		size  int
		taken bool
	}{{2000, true}, {17000, true}, {65535, true}, {70000, false}} {
		c := dial(t, addr)
		go func() { _, _ = c.Write(padded(hello, test.size)) }()
		first := make([]byte, 1)
		_, err := io.ReadFull(c, first)
		if answered := err == nil && first[0] == 0x16; answered != test.taken {
			t.Errorf("hello of %d bytes: answer %x, %v", test.size, first, err)
		}
		_ = c.Close()
		if err := <-outcomes; err == nil {
			t.Error("a handshake with half a client")
		}
	}
}

// padded returns the records of a ClientHello enlarged to size by the padding extension
// (RFC 7685). The extensions can have at most 65,535 bytes.
func padded(record []byte, size int) []byte {
	msg := bytes.Clone(record[5:])
	at := 4 + 2 + 32
	at += 1 + int(msg[at])
	at += 2 + int(msg[at])<<8 + int(msg[at+1])
	at += 1 + int(msg[at]) // offset of the length of the extensions
	extra := size - len(msg) - 4
	length := int(msg[at])<<8 + int(msg[at+1]) + extra + 4
	for length > 65535 { // the format's limit is lower than that of crypto/tls
		extra--
		length--
	}
	msg[at], msg[at+1] = byte(length>>8), byte(length)
	msg = append(msg, 0, 21, byte(extra>>8), byte(extra))
	msg = append(msg, make([]byte, extra)...)
	body := max(len(msg)-4, size-4)
	msg[1], msg[2], msg[3] = byte(body>>16), byte(body>>8), byte(body)
	var out []byte
	for len(msg) > 0 {
		n := min(len(msg), 16384)
		out = append(append(out, 0x16, 3, 1, byte(n>>8), byte(n)), msg[:n]...)
		msg = msg[n:]
	}
	return out
}
