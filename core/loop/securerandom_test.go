package loop_test

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"

	"github.com/sluicelb/sluice/core/loop"
)

// ragged is a net.Conn that writes in pieces of random size.
type ragged struct {
	net.Conn
	rand *rand.Rand
}

func (c ragged) Write(p []byte) (int, error) {
	for n := 0; n < len(p); {
		k := min(len(p)-n, 1+c.rand.IntN(1<<c.rand.IntN(17)))
		if _, err := c.Conn.Write(p[n : n+k]); err != nil {
			return n, err
		}
		if n += k; k%4 == 0 {
			runtime.Gosched()
		}
	}
	return len(p), nil
}

// moody is a handler that reads and writes parts of random size, stops at random and
// resumes as a handler must.
func moody(l *loop.Loop, r *rand.Rand) *probe {
	ended := false
	p := &probe{}
	p.readable = func(c *loop.Conn) {
		for range r.IntN(6) {
			if c.Pending() != 0 || ended {
				return
			}
			n, err := c.Read(l.In[:1+r.IntN(1<<r.IntN(18))])
			for b := l.In[:n]; len(b) > 0; {
				k := 1 + r.IntN(len(b))
				if k < len(b) && k%2 == 0 {
					_ = c.WriteMore(b[:k])
				} else {
					_ = c.Write(b[:k])
				}
				b = b[k:]
			}
			switch err {
			case nil:
			case loop.ErrDry:
				return
			case io.EOF:
				ended = true
				c.CloseWrite()
				return
			default:
				c.Abort()
				return
			}
		}
		c.Wait()
	}
	p.drained = func(c *loop.Conn) { p.readable(c) }
	return p
}

func TestBytesOfAnySizesInAnyPiecesArriveInOrder(t *testing.T) {
	for name, version := range allVersions {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				l := start(t)
				addr := secure(t, l, serverConfig(nil, "P-256"), func(*loop.Conn) *probe { return moody(l, rand.New(rand.NewPCG(seed, 1))) })
				r := rand.New(rand.NewPCG(seed, 2))
				c := tls.Client(ragged{dial(t, addr), r}, clientConfig(func(c *tls.Config) {
					c.MaxVersion = version
					c.DynamicRecordSizingDisabled = seed%2 == 0
				}))
				sent, got, total := sha256.New(), sha256.New(), 0
				var parts [][]byte
				for total < 1<<20 {
					part := make([]byte, 1+r.IntN(1<<r.IntN(18)))
					for i := range part {
						part[i] = byte(r.Uint32())
					}
					parts, total = append(parts, part), total+len(part)
					sent.Write(part)
				}
				go func() {
					for _, part := range parts {
						if _, err := c.Write(part); err != nil {
							return
						}
					}
					_ = c.CloseWrite()
				}()
				n, err := io.Copy(got, c)
				if err != nil || n != int64(total) || [32]byte(got.Sum(nil)) != [32]byte(sent.Sum(nil)) {
					t.Errorf("%d of %d bytes, or others, came back: %v", n, total, err)
				}
			})
		}
	}
}
