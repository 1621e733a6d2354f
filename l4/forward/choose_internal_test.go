package forward

import (
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/farm"
)

// Browsers open several connections at once, which reach different loops.
func TestLoopsAgreeOnTheBackendOfANewClient(t *testing.T) {
	f := compileOne(t, func(l *farm.L4) {
		l.Persist, l.Algorithm = farm.L4PersistSrc, farm.L4LeastConn
		for id := uint32(3); id <= 4; id++ {
			l.Backends = append(l.Backends, farm.Backend{ID: id, Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(id)})
		}
	})
	const clients, loops = 50000, 2
	var came [loops][clients]choice
	var at [loops]atomic.Int64
	var all sync.WaitGroup
	for n := range loops {
		all.Go(func() {
			key := make([]byte, 0, 64)
			for i := range clients {
				at[n].Store(int64(i))
				for spins := 0; at[1-n].Load() < int64(i); spins++ { // both loops get each client at the same time
					if spins > 1000 {
						runtime.Gosched()
					}
				}
				from := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
				came[n][i], _ = f.choose(&tuple{client: netip.AddrPortFrom(from, 4000)}, balance.Tried{}, f.clock(), key)
			}
			at[n].Store(clients)
		})
	}
	all.Wait()
	apart := 0
	for i := range clients {
		if came[0][i].index != came[1][i].index {
			apart++
		}
		for n := range loops {
			came[n][i].held.Done()
		}
	}
	if apart > 0 {
		t.Errorf("%d of %d clients came to two backends", apart, clients)
	}
	for i := range f.backends {
		if left := f.backends[i].load.Active.Load(); left != 0 {
			t.Errorf("backend %d is left with %d connections", i, left)
		}
	}
}
