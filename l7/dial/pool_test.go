package dial_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/dial"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// user is an owner that sends a line and waits for one.
type user struct {
	conn *dial.Conn
	done chan result
	line []byte
}

type result struct {
	conn *dial.Conn
	line string
	err  error
}

func (u *user) BackendConnected(_ int64, _ bool, err error) {
	if err != nil {
		u.done <- result{err: err}
		return
	}
	_ = u.conn.Write([]byte("ask\n"))
}

func (u *user) BackendReadable() {
	c := u.conn
	for {
		n, err := c.Read(c.Loop().In)
		u.line = append(u.line, c.Loop().In[:n]...)
		if len(u.line) > 0 && u.line[len(u.line)-1] == '\n' {
			u.done <- result{conn: c, line: string(u.line)}
			return
		}
		if err != nil {
			if err != loop.ErrDry {
				u.done <- result{err: err}
			}
			return
		}
	}
}
func (u *user) BackendDrained()     {}
func (u *user) BackendExpired()     {}
func (u *user) BackendFailed(error) {}

// bench is a loop with a pool.
type bench struct {
	t    *testing.T
	loop *loop.Loop
	pool *dial.Pool

	panics *uint64 // contained panics; 0 at the end of the test
}

func newBench(t *testing.T) *bench {
	panics := new(uint64)
	l, err := loop.New(&loop.Counters{Panics: panics})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(func() {
		if l.Stop(); *panics > 0 {
			t.Errorf("%d panics were contained", *panics)
		}
	})
	return &bench{t, l, dial.NewPool(l), panics}
}

func (b *bench) on(fn func()) {
	done := make(chan struct{})
	b.loop.Post(func() { defer close(done); fn() })
	<-done
}

// ask sends a line over an idle or new connection and puts it back. It returns the response
// and whether the connection was reused.
func (b *bench) ask(t *dial.Target) (result, bool) {
	b.t.Helper()
	u := &user{done: make(chan result, 1)}
	reused := false
	b.on(func() {
		if u.conn = b.pool.Idle(t, u); u.conn != nil {
			reused = true
			u.BackendConnected(0, false, nil)
			return
		}
		var err error
		if u.conn, err = b.pool.Dial(t, u); err != nil {
			b.t.Error(err)
		}
	})
	r := <-u.done
	if r.conn != nil {
		b.on(func() { b.pool.Put(r.conn) })
	}
	return r, reused
}

// backend responds to lines with the server name of the connection, and then calls after.
func backend(t *testing.T, config *tls.Config, after func(c net.Conn)) netip.AddrPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
			go answer(c, config, after)
		}
	}()
	return netip.MustParseAddrPort(ln.Addr().String())
}

func answer(c net.Conn, config *tls.Config, after func(c net.Conn)) {
	name := "plain"
	if config != nil {
		s := tls.Server(c, config)
		if s.Handshake() != nil {
			_ = c.Close()
			return
		}
		name, c = s.ConnectionState().ServerName, s
	}
	for r := bufio.NewReader(c); ; {
		if _, err := r.ReadString('\n'); err != nil {
			_ = c.Close()
			return
		}
		_, _ = io.WriteString(c, name+"\n")
		if after != nil {
			after(c)
		}
	}
}

func serverConfig(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"a.test"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"http/1.1"}}
}

func target(addr netip.AddrPort, config *tls.Config, name string) *dial.Target {
	return &dial.Target{ID: 3, Addr: addr, Timeout: int64(2 * time.Second),
		Options: loop.DialOptions{Security: loop.Security{Config: config, ServerName: name}}}
}

func TestSecureConnectionIsReusedForTheSameTLSOnly(t *testing.T) {
	b := newBench(t)
	addr := backend(t, serverConfig(t), nil)
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}
	other := config.Clone()
	for i, test := range []struct {
		config *tls.Config
		name   string
		reused bool
	}{
		{config, "a.test", false}, {config, "a.test", true}, {config, "b.test", false}, {config, "a.test", true},
		{config, "b.test", true}, {other, "a.test", false}, {other, "a.test", true}, {config, "a.test", true},
	} {
		r, reused := b.ask(target(addr, test.config, test.name))
		if r.err != nil || r.line != test.name+"\n" || reused != test.reused {
			t.Errorf("%d: %s: answer %q, %v, reused %t", i, test.name, r.line, r.err, reused)
		}
		b.on(func() {
			if agreed := r.conn.TLS(); agreed == nil || agreed.Protocol != "http/1.1" {
				t.Errorf("agreed on %+v", agreed)
			}
		})
	}
}

func TestFailedHandshakeFailsDial(t *testing.T) {
	b := newBench(t)
	for name, want := range map[string]struct {
		addr   netip.AddrPort
		config *tls.Config
	}{
		"a certificate nobody trusts": {backend(t, serverConfig(t), nil), &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "a.test"}},
		"a backend that is silent":    {backend(t, nil, nil), &tls.Config{InsecureSkipVerify: true}},
	} {
		if r, _ := b.ask(target(want.addr, want.config, "")); r.err == nil {
			t.Errorf("%s: it was connected", name)
		}
	}
}

func TestIdleSecureConnectionEndsOnBytes(t *testing.T) {
	b := newBench(t)
	config := &tls.Config{InsecureSkipVerify: true}
	for _, test := range []struct {
		name  string
		after func(c net.Conn)
		stays bool
	}{
		{"nothing", nil, true},
		{"bytes nobody asked for", func(c net.Conn) { _, _ = c.Write([]byte("more\n")) }, false},
		{"its end", func(c net.Conn) { _ = c.(*tls.Conn).CloseWrite() }, false},
	} {
		// On a slow machine the pool sees the end later.
		for wait := 100 * time.Millisecond; ; wait *= 2 {
			addr := backend(t, serverConfig(t), func(c net.Conn) {
				time.Sleep(30 * time.Millisecond) // the connection is idle by now
				if test.after != nil {
					test.after(c)
				}
			})
			to := target(addr, config, "a.test")
			b.ask(to)
			time.Sleep(wait)
			r, reused := b.ask(to)
			if r.err == nil && reused == test.stays {
				break
			}
			if test.stays || wait > time.Second {
				t.Errorf("after %s: %v, reused %t", test.name, r.err, reused)
				break
			}
		}
	}
}

// eager returns a connection to the pool immediately after the connect.
type eager struct {
	user
	pool *dial.Pool
}

func (e *eager) BackendConnected(_ int64, _ bool, err error) {
	if err == nil {
		e.pool.Put(e.conn)
	}
	e.done <- result{conn: e.conn, err: err}
}

// Session tickets arrive right after the handshake. With client authentication they arrive
// later, when the connection is already idle.
func TestTicketsDoNotMakeAnIdleConnectionUseless(t *testing.T) {
	for _, auth := range []tls.ClientAuthType{tls.NoClientCert, tls.RequestClientCert} {
		b := newBench(t)
		server := serverConfig(t)
		server.ClientAuth = auth
		to := target(backend(t, server, nil), &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(1)}, "a.test")
		e := &eager{user{done: make(chan result, 1)}, b.pool}
		b.on(func() {
			var err error
			if e.conn, err = b.pool.Dial(to, e); err != nil {
				t.Error(err)
			}
		})
		if r := <-e.done; r.err != nil {
			t.Fatal(r.err)
		}
		time.Sleep(50 * time.Millisecond)
		if r, reused := b.ask(to); r.err != nil || !reused {
			t.Errorf("%v: %v, reused %t", auth, r.err, reused)
		}
	}
}

func TestPlainConnectionsAreReused(t *testing.T) {
	b := newBench(t)
	to := target(backend(t, nil, nil), nil, "")
	for i := range 3 {
		if r, reused := b.ask(to); r.err != nil || r.line != "plain\n" || reused != (i > 0) {
			t.Errorf("%d: answer %q, %v, reused %t", i, r.line, r.err, reused)
		}
	}
	b.on(func() { b.pool.Retain(func(id uint32) bool { return id == to.ID }) })
	if _, reused := b.ask(to); !reused {
		t.Error("a connection to a backend that stays was closed")
	}
	b.on(func() { b.pool.Retain(func(uint32) bool { return false }) })
	if r, reused := b.ask(to); r.err != nil || reused {
		t.Errorf("after the backend was dropped: %v, reused %t", r.err, reused)
	}
}

func TestAConnectionLeadsToOneTargetOnly(t *testing.T) {
	b := newBench(t)
	to := target(backend(t, nil, nil), nil, "a.test")
	r, _ := b.ask(to)
	for what, edit := range map[string]func(to *dial.Target){
		"as it was": func(*dial.Target) {},
		"address":   func(to *dial.Target) { to.Addr = netip.AddrPortFrom(to.Addr.Addr(), to.Addr.Port()+1) },
		"source":    func(to *dial.Target) { to.Options.Source = netip.MustParseAddr("127.0.0.2") },
		"mark":      func(to *dial.Target) { to.Options.Mark = 1 },
		"name":      func(to *dial.Target) { to.Options.Security.ServerName = "b.test" },
		"header":    func(to *dial.Target) { to.Announce = proxyproto.V1 },
	} {
		other := *to
		edit(&other)
		if same := what == "as it was"; r.conn.Fits(&other) != same {
			t.Errorf("%s: fits %t, want %t", what, !same, same)
		}
	}
	for _, other := range []dial.Target{{ID: 4}, {ID: 400}, {ID: 3, Addr: to.Addr, Options: to.Options, Announce: proxyproto.V1}} {
		b.on(func() {
			if b.pool.Idle(&other, &user{}) != nil {
				t.Errorf("a connection to %v is reused for %+v", to.Addr, other)
			}
		})
	}
	if n := b.idle(to.ID); n != 0 {
		t.Errorf("%d connections that lead elsewhere now are kept", n)
	}
}
