package loop_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// lineFirst serves an echo to clients that first send a line. Bytes after the line stay
// in the socket. It peeks until the line is complete.
func lineFirst(l *loop.Loop, security loop.Security) func(c *loop.Conn) {
	return func(c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			n, err := c.Peek(l.In)
			if err != nil {
				if err != loop.ErrDry {
					c.Close()
				}
				return
			}
			end := bytes.IndexByte(l.In[:n], '\n') + 1
			switch {
			case end == 0 && c.Ending():
				c.Close()
				return
			case end == 0:
				_ = c.WaitMore()
				return
			}
			if c.Skip(end) != nil {
				c.Close()
				return
			}
			c.SetPeer(netip.MustParseAddrPort("192.0.2.1:7"))
			c.SetHandler(echo(l))
			if security.Config != nil {
				c.Secure(security)
			}
			c.Proceed()
		}})
	}
}

func TestBytesAfterThePeekedOnesRemain(t *testing.T) {
	l := start(t)
	config := serverConfig(nil, "P-256")
	for name, addr := range map[string]string{
		"plain":  serve(t, l, lineFirst(l, loop.Security{})),
		"secure": serve(t, l, lineFirst(l, loop.Security{Config: config})),
	} {
		for _, size := range []int{1, 10, 1 << 20} {
			raw := dial(t, addr)
			c := net.Conn(pieces{raw, size})
			if name == "plain" {
				_, _ = io.WriteString(c, "a line of its own\nhello")
			} else {
				_, _ = io.WriteString(c, "a line of its own\n")
				s := tls.Client(c, clientConfig(nil))
				_, _ = io.WriteString(s, "hello")
				c = s
			}
			_ = raw.SetReadDeadline(time.Now().Add(5 * time.Second))
			got := make([]byte, 5)
			if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
				t.Errorf("%s by %d: %q, %v", name, size, got, err)
			}
			on(l, func() {
				l.Each(func(c *loop.Conn) {
					if c.Peer() != netip.MustParseAddrPort("192.0.2.1:7") {
						t.Errorf("peer %v", c.Peer())
					}
				})
			})
			_ = raw.Close()
			eventually(t, "the connection stays", func() bool { return open(l) == 0 })
		}
	}
}

func TestEndIsReportedAfterPeekedBytes(t *testing.T) {
	l := start(t)
	addr := serve(t, l, lineFirst(l, loop.Security{}))
	for _, wait := range []time.Duration{0, 20 * time.Millisecond} {
		c := dial(t, addr)
		_, _ = io.WriteString(c, "half a line")
		time.Sleep(wait)
		_ = c.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || isTimeout(err) {
			t.Errorf("after %v: %v", wait, err)
		}
	}
	eventually(t, "connections stay", func() bool { return open(l) == 0 })
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}

func TestPrefaceIsSentBeforeEverythingElse(t *testing.T) {
	l := start(t)
	for name, config := range map[string]*tls.Config{"plain": nil, "secure": serverConfig(nil, "P-256")} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		preface := []byte("before all")
		security := loop.Security{}
		if config != nil {
			security.Config = clientConfig(nil)
		}
		on(l, func() {
			_, err := l.Dial(netip.MustParseAddrPort(ln.Addr().String()), &probe{
				connected: func(c *loop.Conn, err error) {
					if err != nil {
						t.Errorf("%s: outcome %v", name, err)
						return
					}
					_ = c.Write([]byte(" else"))
				},
			}, int64(5*time.Second), loop.DialOptions{Security: security, Preface: preface})
			if err != nil {
				t.Error(err)
			}
			clear(preface) // Dial made a copy
		})
		c, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		got := make([]byte, len(preface))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "before all" {
			t.Errorf("%s: begins with %q, %v", name, got, err)
		}
		if config != nil {
			c = tls.Server(c, config)
		}
		got = make([]byte, len(" else"))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != " else" {
			t.Errorf("%s: continues with %q, %v", name, got, err)
		}
		_ = c.Close()
	}
}
