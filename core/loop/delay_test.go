package loop_test

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// Only the first bytes of a dialled connection may be sent as the kernel likes,
// and only where it likes to send them at once.
func TestWhatADialledConnectionSendsWaitsForNoAcknowledgement(t *testing.T) {
	small, longest, more := make([]byte, 100), make([]byte, 536), make([]byte, 537)
	for _, test := range []struct {
		name    string
		send    func(c *loop.Conn)
		bytes   int
		delays  bool
		packets int
	}{
		{"one segment", func(c *loop.Conn) { _ = c.Write(longest) }, 536, true, 1},
		{"perhaps two segments", func(c *loop.Conn) { _ = c.Write(more) }, 537, false, 1},
		{"two parts", func(c *loop.Conn) { _ = c.Write(small); _ = c.Write(small) }, 200, false, 2},
		{"a part held back", func(c *loop.Conn) { _ = c.WriteMore(small); _ = c.Write(small) }, 200, false, 1},
		{"a part held back and pushed", func(c *loop.Conn) { _ = c.WriteMore(small); c.Push() }, 100, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := start(t)
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			on(l, func() {
				_, err = l.Dial(netip.MustParseAddrPort(ln.Addr().String()), &probe{connected: func(c *loop.Conn, err error) {
					if err != nil {
						t.Error(err)
						return
					}
					test.send(c)
					if c.Delays() != test.delays {
						t.Errorf("what comes next may wait: %v, want %v", c.Delays(), test.delays)
					}
					if n := c.SegmentsSent(); n != test.packets {
						t.Errorf("%d packets were sent, want %d", n, test.packets)
					}
				}}, int64(5*time.Second), loop.DialOptions{})
			})
			if err != nil {
				t.Fatal(err)
			}
			c, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.ReadFull(c, make([]byte, test.bytes)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What was written before a connection stood is no exception.
func TestAPrefaceDoesNotMakeTheNextBytesWait(t *testing.T) {
	l := start(t)
	delays := make(chan bool, 2)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	on(l, func() {
		_, err := l.Dial(netip.MustParseAddrPort(addr), &probe{
			drained: func(c *loop.Conn) {
				delays <- c.Delays()
				_ = c.Write([]byte("more"))
				delays <- c.Delays()
			},
		}, int64(5*time.Second), loop.DialOptions{Preface: []byte("PROXY UNKNOWN\r\n")})
		if err != nil {
			t.Error(err)
		}
	})
	if first, then := <-delays, <-delays; !first || then {
		t.Errorf("what comes next may wait: %v and then %v, want true and then false", first, then)
	}
}
