//go:build !race

package http1_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

func TestParsingAndForwardingAllocateNothing(t *testing.T) {
	request, odd, response := []byte(typicalRequest), []byte("POST //%7e\u00e9/../b%252f;x HTTP/1.1\r\nConnection: x-a, te\r\nX-A: 1\r\n"+
		"TE: trailers\r\nHost: EXAMPLE.com.:80\r\nX_Forwarded_For: 1\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"), []byte(typicalResponse)
	bad := []byte("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n")
	clean, dirty := []byte("5\r\nhello\r\n0\r\n\r\n"), []byte("5;e\r\nhello\r\n0\r\nX: y\r\n\r\n")
	buf := make([]byte, 64)
	dst := make([]byte, 0, 4096)
	r, p := new(http1.Request), new(http1.Response)
	o := new(http1.ResponseOptions)
	var c http1.Chunked
	if n := testing.AllocsPerRun(100, func() {
		for _, head := range [][]byte{request, odd} {
			if _, err := r.Parse(head); err != nil {
				t.Fatal(err)
			}
			dst = http1.AppendRequest(dst[:0], r, forward)
		}
		if _, err := r.Parse(bad); err == nil {
			t.Fatal("accepted")
		}
		if _, err := p.Parse(response); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Body(false); err != nil {
			t.Fatal(err)
		}
		dst = http1.AppendResponse(dst[:0], p, o)
		for _, body := range [][]byte{clean, dirty} {
			c.Reset(false)
			if _, _, err := c.Scan(buf[:copy(buf, body)]); err != nil || !c.Done() {
				t.Fatal(err)
			}
			c.Reset(false)
			if _, _, err := c.Decode(buf[:copy(buf, body)]); err != nil || !c.Done() {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
