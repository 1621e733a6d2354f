package proxy_test

import (
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// TestGaugesReturnToZero lets clients and backends end their connections at every point of
// an exchange while backends are cut, moved and brought back. At the end no exchange is
// counted as in progress, and backends with a limit of one exchange serve again.
func TestGaugesReturnToZero(t *testing.T) {
	t.Parallel()
	b := l7test.NewBackend(t, func(c *l7test.Recorder) {
		for {
			head, err := c.Head()
			if err != nil {
				return
			}
			switch say := func(s string) { c.Say(s) }; {
			case strings.Contains(head, "/silent"):
				time.Sleep(1200 * time.Millisecond)
				return
			case strings.Contains(head, "/reset"):
				_ = c.SetLinger(0)
				return
			case strings.Contains(head, "/cut"):
				say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart")
				return
			case strings.Contains(head, "/early"):
				say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			case strings.Contains(head, "/big"):
				say("HTTP/1.1 200 OK\r\nContent-Length: 4194304\r\n\r\n" + strings.Repeat("x", 4<<20))
			case strings.Contains(head, "/ws"):
				say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello")
				_ = c.SetDeadline(time.Now().Add(300 * time.Millisecond))
				_, _ = io.Copy(c.TCPConn, c.Unrecorded())
				return
			case strings.Contains(head, "/bad"):
				say("nonsense\r\n\r\n")
			case strings.Contains(head, "/open"):
				say("HTTP/1.1 200 OK\r\n\r\nrest")
				return
			default:
				say(ok)
			}
		}
	})
	gone := l7test.NewBackend(t, l7test.Answer(ok))
	gone.Close()
	a := l7test.New(t, 2)
	service := func(cut bool) farm.Service {
		s := l7test.Service("web", b.Addr, gone.Addr, b.Addr, b.Addr)
		s.Policy = farm.PolicyPending
		s.Backends[2].ConnLimit, s.Backends[3].ConnLimit = 1, 1
		if cut {
			s.Backends[0].Maintenance = farm.MaintenanceCut
		}
		return s
	}
	times := func(h *farm.HTTP) {
		h.RequestTimeout, h.ResponseTimeout, h.ConnectTimeout, h.ResurrectTime = 1, 1, 1, 1
	}
	addr := a.Serve(times, service(false))
	paths := []string{"/", "/silent", "/reset", "/cut", "/early", "/big", "/ws", "/bad", "/open"}
	end := time.Now().Add(2 * time.Second)
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for time.Now().Before(end) {
				c, err := net.Dial("tcp", addr)
				if err != nil {
					continue
				}
				_ = c.SetDeadline(time.Now().Add(time.Duration(r.IntN(1500)) * time.Millisecond))
				for range 1 + r.IntN(3) {
					path := paths[r.IntN(len(paths))]
					text := get(path)
					switch {
					case path == "/ws":
						text = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nping"
					case r.IntN(3) == 0:
						text = strings.Replace(post(r.IntN(200000)), "POST /", "POST "+path, 1)
					}
					if r.IntN(4) == 0 {
						text = text[:r.IntN(len(text))]
					}
					_, _ = io.WriteString(c, text)
				}
				switch r.IntN(4) {
				case 0:
					_ = c.(*net.TCPConn).SetLinger(0)
				case 1:
					_ = c.(*net.TCPConn).CloseWrite()
					_, _ = io.Copy(io.Discard, c)
				case 2:
					_, _ = io.CopyN(io.Discard, c, int64(r.IntN(100000)))
				default:
					_, _ = io.Copy(io.Discard, c)
				}
				_ = c.Close()
			}
		}()
	}
	for n := 0; time.Now().Before(end); n++ {
		a.Serve(times, service(n%2 == 1))
		time.Sleep(20 * time.Millisecond)
	}
	wg.Wait()
	s := service(false)
	s.Backends = s.Backends[2:]
	a.Serve(times, s)
	gauges := func() (n []uint64) {
		f := a.Segment.SumFarm(1)
		n = append(n, f.Established, f.Pending)
		for id := range uint32(4) {
			b := a.Segment.SumBackend(id + 1)
			n = append(n, b.Established, b.Pending)
		}
		return n
	}
	for wait := time.Now().Add(8 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, sum := gauges(), uint64(0)
		for _, g := range got {
			sum |= g
		}
		if sum == 0 {
			break
		}
		if time.Now().After(wait) {
			t.Fatalf("still counted as under way: %v", got)
		}
	}
	for i := range 4 {
		if res := l7test.Dial(t, addr).Send(get("/")).Get(); res.StatusCode != 200 {
			t.Fatalf("request %d to backends with a limit of one: %s", i, res.Status)
		}
	}
}
