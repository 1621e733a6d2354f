//go:build !race

package backend_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

// answersOnly responds to each complete request on HTTP/2 connections with "ok" and
// trailers. It does not allocate.
func answersOnly(c *l7test.Recorder) {
	in := make([]byte, 1<<20)
	if _, err := io.ReadFull(c.TCPConn, in[:len(xhttp2.ClientPreface)]); err != nil {
		return
	}
	out := []byte("\x00\x00\x0c\x04\x00\x00\x00\x00\x00" + "\x00\x03\x00\x00\x04\x00" + "\x00\x04\x7f\x00\x00\x00" + // SETTINGS: streams, window
		"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\x00\x00\x00") // WINDOW_UPDATE
	moved := uint32(0)
	for have := 0; ; {
		if len(out) > 0 {
			if _, err := c.TCPConn.Write(out); err != nil {
				return
			}
			out = out[:0]
		}
		n, err := c.TCPConn.Read(in[have:])
		if err != nil {
			return
		}
		have += n
		at := 0
		for have-at >= 9 {
			length := int(in[at])<<16 | int(in[at+1])<<8 | int(in[at+2])
			if have-at < 9+length {
				break
			}
			kind, flags, id := in[at+3], in[at+4], in[at+5:at+9]
			switch {
			case kind == 0:
				moved += uint32(length)
			case kind == 4 && flags == 0:
				out = append(out, "\x00\x00\x00\x04\x01\x00\x00\x00\x00"...)
			}
			if kind <= 1 && flags&1 != 0 {
				out = append(append(append(out, "\x00\x00\x01\x01\x04"...), id...), 0x88) // :status 200
				out = append(append(append(out, "\x00\x00\x02\x00\x00"...), id...), "ok"...)
				out = append(append(append(out, "\x00\x00\x10\x01\x05"...), id...), "\x00\x0bgrpc-status\x02ok"...)
				if moved > 0 {
					out = binary.BigEndian.AppendUint32(append(out, "\x00\x00\x04\x08\x00\x00\x00\x00\x00"...), moved)
					moved = 0
				}
			}
			at += 9 + length
		}
		have = copy(in, in[at:have])
	}
}

// TestExchangesWithHTTP2BackendsAllocateNothing counts all allocations of the process during
// exchanges of clients of both protocols with an HTTP/2 backend.
func TestExchangesWithHTTP2BackendsAllocateNothing(t *testing.T) {
	for name, c := range map[string]struct {
		streams uint32
		body    int
	}{"one get": {1, 0}, "one post": {1, 1000}, "twenty gets": {20, 0}, "twenty posts": {20, 1000}} {
		t.Run("http2, "+name, func(t *testing.T) {
			addr := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, l7test.NewBackend(t, answersOnly).Addr))
			noneIn(t, int(c.streams), l7test.StreamRounds(t, addr, c.streams, c.body))
		})
	}
	for name, body := range map[string]int{"get": 0, "post": 1000} {
		t.Run("http1, "+name, func(t *testing.T) {
			addr := l7test.New(t, 1).Serve(nil, l7test.HTTP2Service(false, l7test.NewBackend(t, answersOnly).Addr))
			client := l7test.Dial(t, addr)
			request := []byte("GET /path?q=1 HTTP/1.1\r\nHost: a.test\r\n\r\n")
			if body > 0 {
				request = append([]byte("POST /path HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\n"), make([]byte, body)...)
			}
			in, end := make([]byte, 4096), []byte("\r\n2\r\nok\r\n0\r\ngrpc-status: ok\r\n\r\n")
			noneIn(t, 1, func() {
				if _, err := client.Write(request); err != nil {
					t.Fatal(err)
				}
				for n := 0; !bytes.HasSuffix(in[:n], end); {
					m, err := client.TCPConn.Read(in[n:])
					if err != nil {
						t.Fatalf("%v after %q", err, in[:n])
					}
					n += m
				}
			})
		})
	}
}

// noneIn fails the test if rounds of that many exchanges allocate.
func noneIn(t *testing.T, exchanges int, round func()) {
	t.Helper()
	const rounds = 500
	if n := l7test.Mallocs(100, rounds, round); n > uint64(rounds*exchanges/50) {
		t.Fatalf("%d allocations in %d exchanges, want none", n, rounds*exchanges)
	}
}
