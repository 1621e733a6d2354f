package loop_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// FuzzFirstBytes sends arbitrary bytes to a TLS port. The handler receives exactly one
// outcome, plain bytes come back unchanged, and the loop survives without a panic.
func FuzzFirstBytes(f *testing.F) {
	var panics uint64
	l, err := loop.New(&loop.Counters{Panics: &panics})
	if err != nil {
		f.Fatal(err)
	}
	go func() { _ = l.Run() }()
	f.Cleanup(l.Stop)
	outcomes := make(chan error, 4)
	config := serverConfig(nil, "P-256", "RSA")
	addr := serveFuzz(f, l, func(c *loop.Conn) {
		c.SetHandler(outcome(l, outcomes)(c))
		c.Secure(loop.Security{Config: config})
	})
	for _, seed := range firstBytes(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Skip(err)
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		go func() {
			_, _ = c.Write(in)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		got, _ := io.ReadAll(c)
		var heard error
		select {
		case heard = <-outcomes:
		case <-time.After(10 * time.Second):
			t.Fatal("no outcome")
		}
		plain := len(in) > 0 && in[0] != 0x16
		if (heard == loop.ErrPlain) != plain {
			t.Errorf("outcome %v for %.20x", heard, in)
		}
		if plain && !bytes.Equal(got, in) {
			t.Errorf("%d plain bytes came back of %d", len(got), len(in))
		}
		if heard == nil {
			t.Error("a handshake with bytes from a file")
		}
		if len(outcomes) != 0 {
			t.Errorf("a second outcome: %v", <-outcomes)
		}
		on(l, func() {
			if panics != 0 {
				t.Error("a panic")
			}
		})
	})
}

func serveFuzz(f *testing.F, l *loop.Loop, accept func(c *loop.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		f.Fatal(err)
	}
	_ = ln.Close()
	f.Cleanup(func() { _ = file.Close() })
	on(l, func() {
		if _, err := l.Listen(file, accept); err != nil {
			f.Error(err)
		}
	})
	return ln.Addr().String()
}

// firstBytes returns the seeds: hellos of all versions, truncated and corrupted, and
// other traffic seen on port 443.
func firstBytes(f *testing.F) [][]byte {
	seeds := [][]byte{
		{}, {0x16}, {0x16, 3}, {0x16, 3, 1, 0, 0}, {0x16, 3, 1, 0xff, 0xff}, {0x16, 3, 1, 0, 1, 1}, {0x15, 3, 1, 0, 2, 2, 40},
		{0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10}, // SSL 2
		[]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), []byte("SSH-2.0-x\r\n"),
		[]byte("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n"), bytes.Repeat([]byte{0x16}, 5000), bytes.Repeat([]byte{0}, 5000),
	}
	for _, version := range allVersions {
		hello := helloOf(f, version)
		seeds = append(seeds, hello, hello[:len(hello)/2], append(bytes.Clone(hello), hello...),
			append(bytes.Clone(hello), 20, 3, 3, 0, 1, 1), append(bytes.Clone(hello), "GET / HTTP/1.0\r\n\r\n"...))
		for _, at := range []int{1, 3, 5, 6, 9, 43, 44, len(hello) / 2, len(hello) - 1} {
			spoilt := bytes.Clone(hello)
			spoilt[at] ^= 0xff
			seeds = append(seeds, spoilt)
		}
	}
	return seeds
}

// helloOf returns the ClientHello of a client with version as its maximum.
func helloOf(f *testing.F, version uint16) []byte {
	a, b := net.Pipe()
	r := &recorder{Conn: a}
	go func() {
		_, _ = b.Read(make([]byte, 1<<16))
		_ = b.Close()
	}()
	if err := tls.Client(r, clientConfig(func(c *tls.Config) { c.MaxVersion = version })).Handshake(); err == nil || len(r.said) == 0 {
		f.Fatal("no hello")
	}
	return r.said[0]
}
