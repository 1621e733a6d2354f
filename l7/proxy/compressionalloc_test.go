//go:build !race

package proxy_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/compress/compresstest"
	"github.com/sluicelb/sluice/l7/l7test"
)

// TestCompressingAllocatesNothing counts all allocations of the process while responses are
// compressed. The zstd library allocates 16 bytes per body for its header.
func TestCompressingAllocatesNothing(t *testing.T) {
	body := string(compresstest.Text(20000, 1))
	for coding, most := range map[farm.Coding]uint64{farm.CodingGzip: 0, farm.CodingBrotli: 0, farm.CodingZstd: 1} {
		for _, length := range []string{fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body), fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)} {
			answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"x\"\r\nVary: Origin\r\n" + length)
			b := l7test.NewBackend(t, func(c *l7test.Recorder) {
				buf := make([]byte, 4096)
				for {
					if _, err := c.TCPConn.Read(buf); err != nil {
						return
					}
					if _, err := c.TCPConn.Write(answer); err != nil {
						return
					}
				}
			})
			s := compressing(b.Addr)
			s.ServedBy = "X-Backend"
			c := l7test.Dial(t, l7test.New(t, 1).Serve(nil, s))
			sent, got := []byte(encoding("/", string(coding)+", deflate;q=0.5")), make([]byte, 64<<10)
			exchange := func() {
				if _, err := c.TCPConn.Write(sent); err != nil {
					t.Fatal(err)
				}
				for n := 0; !bytes.HasSuffix(got[:n], []byte("\r\n0\r\n\r\n")); {
					some, err := c.TCPConn.Read(got[n:])
					if err != nil {
						t.Fatalf("%v after %q", err, got[:min(n, 300)])
					}
					n += some
				}
			}
			for range 100 {
				exchange()
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			const count = 1000
			for range count {
				exchange()
			}
			runtime.ReadMemStats(&after)
			if n := after.Mallocs - before.Mallocs; n > count*most+count/50 {
				t.Errorf("%s: %d allocations in %d exchanges, want %d each", coding, n, count, most)
			}
			if !bytes.Contains(got, []byte("Content-Encoding: "+string(coding))) {
				t.Errorf("%q", got[:300])
			}
		}
	}
}
