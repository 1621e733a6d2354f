package loop_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// exchange dials, sends and returns as many bytes as it sent.
func exchange(t *testing.T, l *loop.Loop, addr string, s loop.Security, send []byte) []byte {
	t.Helper()
	got := make(chan []byte, 1)
	var all []byte
	on(l, func() {
		_, err := l.Dial(netip.MustParseAddrPort(addr), &probe{
			connected: func(c *loop.Conn, err error) {
				if err != nil {
					t.Errorf("outcome %v", err)
					got <- nil
					return
				}
				_ = c.Write(send)
			},
			readable: func(c *loop.Conn) {
				for {
					n, err := c.Read(l.In)
					all = append(all, l.In[:n]...)
					if len(all) == len(send) || err != nil && err != loop.ErrDry {
						c.Close()
						got <- all
						return
					}
					if err != nil {
						return
					}
				}
			},
		}, int64(5*time.Second), loop.DialOptions{Security: s})
		if err != nil {
			t.Error(err)
			got <- nil
		}
	})
	return <-got
}

func TestDialReportsTheHandshake(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(func(c *tls.Config) { c.NextProtos = []string{"h2", "http/1.1"} }, "P-256"),
		func(*loop.Conn) *probe { return &probe{} })
	plain := dropping(t)
	for _, test := range []struct {
		name, addr string
		security   loop.Security
		want       string // part of the error; empty for none
	}{
		{"a trusted server", addr, loop.Security{Config: clientConfig(nil)}, ""},
		{"another name", addr, loop.Security{Config: clientConfig(nil), ServerName: "other.test"}, "not other.test"},
		{"a name of its own", addr, loop.Security{Config: clientConfig(func(c *tls.Config) { c.ServerName = "" }), ServerName: "loop.test"}, ""},
		{"unknown roots", addr, loop.Security{Config: &tls.Config{ServerName: "loop.test"}}, "unknown authority"},
		{"no verification", addr, loop.Security{Config: &tls.Config{InsecureSkipVerify: true}}, ""},
		{"a server that ends the connection", plain, loop.Security{Config: clientConfig(nil)}, "EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.security.Config.NextProtos = []string{"h2"}
			got := make(chan error, 1)
			on(l, func() {
				c, err := l.Dial(netip.MustParseAddrPort(test.addr), &probe{connected: func(c *loop.Conn, err error) {
					if err == nil && (c.TLS() == nil || c.TLS().Protocol != "h2") {
						err = errors.New("no protocol")
					}
					got <- err
				}}, int64(5*time.Second), loop.DialOptions{Security: test.security})
				if err != nil || !c.Connecting() {
					t.Errorf("Dial: %v", err)
				}
			})
			err := <-got
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("outcome %v, want %q", err, test.want)
			}
		})
	}
}

// dropping returns the address of a server that closes accepted connections.
func dropping(t *testing.T) string {
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
			_, _ = c.Read(make([]byte, 4096)) // otherwise the end is a reset
			_ = c.Close()
		}
	}()
	return ln.Addr().String()
}

func TestDialledConnectionTakesAServerThatDrips(t *testing.T) {
	for name, version := range allVersions {
		for _, size := range []int{1, 100} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				ln, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = ln.Close() })
				go func() {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					s := tls.Server(pieces{c, size}, serverConfig(nil, "P-256"))
					_, _ = io.Copy(s, s)
					_ = s.Close()
				}()
				l := start(t)
				send := bytes.Repeat([]byte("drip"), 1000)
				got := exchange(t, l, ln.Addr().String(), loop.Security{Config: clientConfig(func(c *tls.Config) { c.MaxVersion = version })}, send)
				if !bytes.Equal(got, send) {
					t.Errorf("%d bytes were echoed, or others than the %d sent", len(got), len(send))
				}
			})
		}
	}
}

func TestDialTimesOutInTheHandshake(t *testing.T) {
	l := start(t)
	mute := serve(t, l, func(c *loop.Conn) { c.SetHandler(&probe{}) })
	got := make(chan error, 1)
	on(l, func() {
		_, err := l.Dial(netip.MustParseAddrPort(mute), &probe{
			connected: func(_ *loop.Conn, err error) { got <- err },
			expired:   func(*loop.Conn) { t.Error("Expired instead of Connected") },
		}, int64(300*time.Millisecond), loop.DialOptions{Security: loop.Security{Config: clientConfig(nil)}})
		if err != nil {
			t.Error(err)
		}
	})
	select {
	case err := <-got:
		if failed := (*loop.HandshakeError)(nil); !errors.As(err, &failed) || !errors.Is(err, loop.ErrTimeout) {
			t.Errorf("outcome %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("no outcome")
	}
}

func TestBytesWrittenBeforeTheHandshakeArriveAfterIt(t *testing.T) {
	l := start(t)
	addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return echo(l) })
	got := make(chan string, 1)
	on(l, func() {
		var all []byte
		c, err := l.Dial(netip.MustParseAddrPort(addr), &probe{readable: func(c *loop.Conn) {
			n, err := c.Read(l.In)
			if all = append(all, l.In[:n]...); err == io.EOF {
				c.Close()
				got <- string(all)
			} else {
				c.Wait()
			}
		}}, int64(5*time.Second), loop.DialOptions{Security: loop.Security{Config: clientConfig(nil)}})
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Write([]byte("ear"))
		_ = c.WriteMore([]byte("ly"))
		c.CloseWrite()
	})
	if s := <-got; s != "early" {
		t.Errorf("got %q, want %q", s, "early")
	}
}

func TestSessionsAreResumedOnBothSides(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			var n struct{ all, again, dialled, dialledAgain uint64 }
			l, err := loop.New(&loop.Counters{
				Handshakes: &n.all, HandshakesResumed: &n.again, DialHandshakes: &n.dialled, DialHandshakesResumed: &n.dialledAgain,
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = l.Run() }()
			t.Cleanup(l.Stop)
			addr := secure(t, l, serverConfig(func(c *tls.Config) { c.MaxVersion = version }, "RSA"), func(*loop.Conn) *probe { return echo(l) })
			config := clientConfig(func(c *tls.Config) { c.ClientSessionCache = tls.NewLRUClientSessionCache(4) })
			for range 3 {
				if got := exchange(t, l, addr, loop.Security{Config: config}, []byte("hello")); string(got) != "hello" {
					t.Fatalf("got %q", got)
				}
			}
			on(l, func() {
				if n.all != 3 || n.again != 2 || n.dialled != 3 || n.dialledAgain != 2 {
					t.Errorf("counted %+v, want 3 and 2 on both sides", n)
				}
			})
		})
	}
}
