//go:build !race

package client_test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/l7/l7test"
)

// TestHTTP2ExchangesAllocateNothing counts every allocation of the process
// while one connection carries streams, one at a time or several.
func TestHTTP2ExchangesAllocateNothing(t *testing.T) {
	for name, streams := range map[string]uint32{"one": 1, "twenty": 20} {
		for kind, body := range map[string]int{"get": 0, "post": 1000} {
			t.Run(name+" "+kind, func(t *testing.T) { streamsAllocate(t, streams, body) })
		}
	}
}

func streamsAllocate(t *testing.T, streams uint32, body int) {
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		buf, answer := make([]byte, 65536), []byte("HTTP/1.1 200 OK\r\nServer: some/1\r\nContent-Length: 2\r\n\r\nok")
		for {
			n, err := c.TCPConn.Read(buf)
			if err != nil {
				return
			}
			if body > 0 && !bytes.HasSuffix(buf[:n], []byte("0\r\n\r\n")) {
				continue
			}
			if _, err := c.TCPConn.Write(answer); err != nil {
				return
			}
		}
	})
	s := l7test.Service("web", b.Addr)
	s.VHost, s.URL = `a\.test`, "^/"
	p := l7test.DialFrames(t, l7test.New(t, 1).Serve(nil, s))
	var out bytes.Buffer
	frames := xhttp2.NewFramer(&out, nil)
	data := make([]byte, body)
	block := bytes.Clone(p.Head(":method", "POST", ":scheme", "http", ":authority", "a.test", ":path", "/path?q=1", "user-agent", "test"))
	id := uint32(1)
	in := make([]byte, 65536)
	round := func() {
		out.Reset()
		for range streams {
			_ = frames.WriteHeaders(xhttp2.HeadersFrameParam{StreamID: id, EndStream: body == 0, EndHeaders: true, BlockFragment: block})
			if body > 0 {
				_ = frames.WriteData(id, true, data)
			}
			id += 2
		}
		if _, err := p.Conn.Write(out.Bytes()); err != nil {
			t.Fatal(err)
		}
		for ends := uint32(0); ends < streams; {
			if _, err := io.ReadFull(p.Conn, in[:9]); err != nil {
				t.Fatal(err)
			}
			n := int(in[0])<<16 | int(in[1])<<8 | int(in[2])
			kind, flags := in[3], in[4]
			if _, err := io.ReadFull(p.Conn, in[:n]); err != nil {
				t.Fatal(err)
			}
			if kind == 3 || kind == 7 {
				t.Fatalf("frame of type %d: %x", kind, in[:n])
			}
			if kind <= 1 && flags&1 != 0 {
				ends++
			}
		}
	}
	for range 60 {
		round()
		block = bytes.Clone(p.Head(":method", "POST", ":scheme", "http", ":authority", "a.test", ":path", "/path?q=1", "user-agent", "test"))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const count = 500
	for range count {
		round()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > uint64(count*streams/50) {
		t.Fatalf("%d allocations in %d exchanges, want none", n, count*streams)
	}
}
