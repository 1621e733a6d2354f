package proxy_test

import (
	"crypto/tls"
	"io"
	"net"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// BenchmarkTraffic sends requests on persistent connections. `make profile` uses it for
// profile-guided optimisation.
func BenchmarkTraffic(b *testing.B) {
	b.Run("http", func(b *testing.B) { traffic(b, l7test.New(b, 1), nil, net.Dial) })
	b.Run("https", func(b *testing.B) {
		a := l7test.New(b, 1)
		traffic(b, a, a.HTTPS(l7test.Certificate(b, "a.pem", "a.test")), func(network, addr string) (net.Conn, error) {
			return tls.Dial(network, addr, &tls.Config{ServerName: "a.test", InsecureSkipVerify: true})
		})
	})
}

// traffic runs eight clients against a small backend, one request after the other.
func traffic(b *testing.B, a *l7test.Appliance, edit func(h *farm.HTTP), dial func(network, addr string) (net.Conn, error)) {
	body := make([]byte, 128)
	backend := l7test.NewBackend(b, func(c *l7test.Recorder) {
		answer := append([]byte("HTTP/1.1 200 OK\r\nContent-Length: 128\r\n\r\n"), body...)
		for in := make([]byte, 4096); ; { // as fast as possible: a request is one read
			if _, err := c.TCPConn.Read(in); err != nil {
				return
			}
			_, _ = c.Write(answer)
		}
	})
	addr := a.Serve(edit, l7test.Service("web", backend.Addr))
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c, err := dial("tcp", addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		for in := make([]byte, 4096); pb.Next(); {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"); err != nil {
				b.Error(err)
				return
			}
			for got := 0; got < len(body); { // the body comes last
				n, err := c.Read(in)
				if err != nil {
					b.Error(err)
					return
				}
				got += n
			}
		}
	})
}
