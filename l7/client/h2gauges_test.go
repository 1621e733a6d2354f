package client_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	xhttp2 "golang.org/x/net/http2"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/l7test"
)

// TestHTTP2GaugesReturnToZero is TestGaugesReturnToZero for streams: clients and backends
// end them at every point.
func TestHTTP2GaugesReturnToZero(t *testing.T) {
	b := l7test.NewBackend(t, scripted)
	gone := l7test.NewBackend(t, l7test.Answer(ok))
	gone.Close()
	a := l7test.New(t, 2)
	service := func(cut bool) farm.Service {
		s := l7test.Service("web", b.Addr, gone.Addr, b.Addr)
		s.Policy, s.Backends[2].ConnLimit = farm.PolicyPending, 1
		if cut {
			s.Backends[0].Maintenance = farm.MaintenanceCut
		}
		return s
	}
	addr := a.Serve(quick, service(false))
	paths := []string{"/", "/cut", "/cutchunks", "/close", "/early", "/none", "/hints", "/trailers", "/bad", "/gone", "/silent", "/big", "/slow"}
	tunnels := []string{"/ws", "/wsends", "/wsreset", "/not"}
	end := time.Now().Add(2 * time.Second)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(i)))
			for time.Now().Before(end) {
				p := l7test.DialFrames(t, addr, xhttp2.Setting{ID: xhttp2.SettingInitialWindowSize, Val: []uint32{0, 100, 1 << 20}[r.IntN(3)]})
				_ = p.Conn.SetDeadline(time.Now().Add(time.Duration(r.IntN(1500)) * time.Millisecond))
				for id := uint32(1); id < uint32(r.IntN(40)); id += 2 {
					switch r.IntN(3) {
					case 0:
						p.Ask(id, true, "GET", paths[r.IntN(len(paths))])
					case 1:
						p.Ask(id, false, "POST", paths[r.IntN(len(paths))])
						_ = p.WriteData(id, r.IntN(2) == 0, make([]byte, r.IntN(16000)))
					case 2:
						p.Ask(id, false, "CONNECT", tunnels[r.IntN(len(tunnels))], ":protocol", "websocket")
						_ = p.WriteData(id, r.IntN(2) == 0, []byte("ping"))
					}
					switch r.IntN(6) {
					case 0:
						_ = p.WriteRSTStream(id, xhttp2.ErrCodeCancel)
					case 1:
						_ = p.WriteWindowUpdate(id, 1000)
					case 2:
						p.Next()
					}
				}
				switch r.IntN(4) {
				case 0:
					_ = p.WriteRawFrame(xhttp2.FrameHeaders, 0, 0, nil) // a protocol violation
				case 1:
					p.Ended()
				}
				_ = p.Conn.Close()
			}
		})
	}
	for i := 0; time.Now().Before(end); i++ {
		time.Sleep(100 * time.Millisecond)
		a.Serve(quick, service(i%4 == 3))
	}
	all.Wait()
	a.Serve(quick, service(false))
	l7test.Eventually(t, "gauges return to zero", func() bool {
		f := a.Segment.SumFarm(1)
		n := f.Established | f.Pending
		for id := range uint32(3) {
			s := a.Segment.SumBackend(id + 1)
			n |= s.Established | s.Pending
		}
		return n == 0
	})
}
