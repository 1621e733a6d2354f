//go:build !race

package loop_test

import (
	"crypto/tls"
	"io"
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

// The client runs in the same process, and crypto/tls allocates once for each of its
// reads from the socket.
func TestEstablishedSecureConnectionDoesNotAllocate(t *testing.T) {
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		for _, size := range []int{100, 16384, 100_000} {
			t.Run(name, func(t *testing.T) {
				l := start(t)
				addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return echo(l) })
				c := dialTLS(t, addr, clientConfig(func(c *tls.Config) { c.MaxVersion = version }))
				p := make([]byte, size)
				reads := float64(1 + 2*size/16384)
				if size == 100 {
					reads = 1
				}
				if n := testing.AllocsPerRun(200, func() {
					if _, err := c.Write(p); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(c, p); err != nil {
						t.Fatal(err)
					}
				}); n > reads {
					t.Errorf("%d bytes in each direction: %v allocations", size, n)
				}
			})
		}
	}
}
