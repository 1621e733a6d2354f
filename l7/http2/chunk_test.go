package http2_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/http2"
)

// http1 parses the chunks and forwards the permitted trailers.
func TestChunksAreParsedByHTTP1(t *testing.T) {
	b := http2.AppendChunk(nil, []byte("hello"))
	b = http2.AppendChunk(b, zeros(300))
	b = http2.AppendLastChunk(b, []byte("grpc-status: 0\r\nx-other: 1\r\n"))
	if want := "5\r\nhello\r\n12c\r\n"; string(b[:len(want)]) != want {
		t.Errorf("%q", b[:20])
	}
	var c http1.Chunked
	c.Reset(true)
	in, _, err := c.Scan(b)
	if err != nil || in != len(b) || !c.Done() || string(c.Trailer()) != "grpc-status: 0\r\nx-other: 1\r\n\r\n" {
		t.Errorf("%d of %d, %v, trailer %q", in, len(b), err, c.Trailer())
	}
	c.Reset(true)
	if _, _, err := c.Scan(http2.AppendLastChunk(nil, []byte("content-length: 5\r\n"))); err != http1.ErrTrailerField {
		t.Errorf("%v", err)
	}
}
