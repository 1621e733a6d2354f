package table_test

import (
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/tlsconf"
	"github.com/sluicelb/sluice/l7/state"
	"github.com/sluicelb/sluice/l7/table"
)

// Browsers open several connections at once, which reach different loops.
func TestLoopsAgreeOnTheBackendOfANewClient(t *testing.T) {
	healthTable, err := health.OpenTable(make([]byte, health.TableSize))
	if err != nil {
		t.Fatal(err)
	}
	s := farm.Service{ID: 1, Name: "web", Policy: farm.PolicyRoundRobin, Persistence: farm.PersistIP, TTL: 60}
	for i := range 4 {
		s.Backends = append(s.Backends, farm.Backend{ID: uint32(i + 1), Addr: netip.MustParseAddr("192.0.2.1"), Port: uint16(1 + i), ConnLimit: 100})
	}
	const clients, loops = 50000, 2
	f := farm.Farm{ID: 1, Name: "test", Profile: farm.ProfileHTTP, HTTP: farm.DefaultHTTP()}
	f.HTTP.Services = []farm.Service{s}
	compiler := table.NewCompiler(state.New(loops), healthTable, tlsconf.NewStore(tlsconf.Options{Prepare: loop.Prepare}))
	compiled, problems := compiler.Compile(1, true, &farm.Config{Farms: []farm.Farm{f}}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	sv := &compiled.ByID[1].Services[0]
	var came [loops][clients]int
	var at [loops]atomic.Int64
	var all sync.WaitGroup
	for n := range loops {
		all.Go(func() {
			var c table.Choice
			for i := range clients {
				at[n].Store(int64(i))
				for spins := 0; at[1-n].Load() < int64(i); spins++ { // both loops get each client at the same time
					if spins > 1000 {
						runtime.Gosched()
					}
				}
				c.Key = strconv.AppendInt(c.Key[:0], int64(i), 10)
				came[n][i], _ = c.Pick(sv)
				c.Held.Done()
			}
			at[n].Store(clients)
		})
	}
	all.Wait()
	apart := 0
	for i := range clients {
		if came[0][i] != came[1][i] {
			apart++
		}
	}
	if apart > 0 {
		t.Errorf("%d of %d clients came to two backends", apart, clients)
	}
	for i := range sv.Backends {
		if left := sv.Backends[i].Load.Active.Load(); left != 0 {
			t.Errorf("backend %d is left with %d exchanges", i, left)
		}
	}
}
