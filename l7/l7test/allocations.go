package l7test

import (
	"bytes"
	"io"
	"runtime"
	"testing"

	xhttp2 "golang.org/x/net/http2"
)

// Mallocs returns the allocations of the process in that many rounds, after warm-up rounds
// that fill pools.
func Mallocs(warm, rounds int, round func()) uint64 {
	for range warm {
		round()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		round()
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// StreamRounds returns a function that runs that many concurrent exchanges over HTTP/2.
func StreamRounds(t testing.TB, addr string, streams uint32, body int) func() {
	p := DialFrames(t, addr)
	var out bytes.Buffer
	frames := xhttp2.NewFramer(&out, nil)
	data := make([]byte, body)
	head := func() []byte {
		return bytes.Clone(p.Head(":method", "POST", ":scheme", "http", ":authority", "a.test", ":path", "/path?q=1", "user-agent", "test", "te", "trailers"))
	}
	block, id, rounds, in := head(), uint32(1), 0, make([]byte, 65536)
	return func() {
		if rounds++; rounds > 1 && rounds < 60 {
			block = head() // it shrinks as the HPACK table fills
		}
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
			n, kind, flags := int(in[0])<<16|int(in[1])<<8|int(in[2]), in[3], in[4]
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
}
