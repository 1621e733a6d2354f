package forward_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/explain"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/session"
	"github.com/sluicelb/sluice/l4/forward"
)

// from connects from an address and returns the name of the backend.
func from(t *testing.T, f farm.Farm, source netip.AddrPort) string {
	t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(source), Timeout: 5 * time.Second}
	c, err := d.Dial("tcp", address(f))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	return line(t, c)
}

func clientAt(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, byte(1 + i/250), byte(1 + i%250)}), 0)
}

func TestClientsStayWithTheirBackend(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at(), serve(t, name("2")).at())
	f.L4.Persist, f.L4.Algorithm = farm.L4PersistSrc, farm.L4RoundRobin
	f.L4.Backends[2].Sessions = []string{"127.0.1.1"}
	a.publish(f)
	first := map[int]string{}
	for i := range 20 {
		first[i] = from(t, f, clientAt(i))
	}
	if first[0] != "2" {
		t.Errorf("the client of a static session came to %s, want %s", first[0], "2")
	}
	next := f.Clone()
	next.L4.Backends[1].Maintenance = farm.MaintenanceDrain
	a.publish(next)
	for i, want := range first {
		if got := from(t, next, clientAt(i)); got != want {
			t.Errorf("client %d: %s, then %s", i, want, got)
		}
	}
	next.L4.Backends[1].Maintenance = farm.MaintenanceCut
	a.publish(next)
	for i, want := range first {
		got := from(t, next, clientAt(i))
		if got == "1" || want != "1" && got != want {
			t.Errorf("client %d: %s, then %s after 1 was cut", i, want, got)
		}
	}
	if n, list := a.engine.SessionsOf(1).List(100); n != 20 || len(list) != 20 {
		t.Errorf("%d sessions, %d listed", n, len(list))
	}
	if was, err := a.engine.SessionsOf(1).Forget([]byte("127.0.1.2")); !was || err != nil {
		t.Errorf("deleted: %v %v", was, err)
	}
	if n, err := a.engine.SessionsOf(1).Flush(); n != 18 || err != nil {
		t.Errorf("got %d were flushed, %v, want 18", n, err)
	}
}

func TestCutBackendHasNoSessions(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
	f.L4.Persist, f.L4.Algorithm = farm.L4PersistSrc, farm.L4RoundRobin
	a.publish(f)
	for i := range 10 {
		from(t, f, clientAt(i))
	}
	stopped := f.Clone()
	stopped.Stopped = true
	cut := stopped.Clone()
	cut.L4.Backends[0].Maintenance = farm.MaintenanceCut
	for _, next := range []farm.Farm{stopped, cut, stopped, f} {
		a.publish(next)
	}
	if n, list := a.engine.SessionsOf(1).List(100); n != 5 || list[0].Backend != f.L4.Backends[1].ID {
		t.Errorf("%d sessions are left: %v", n, list)
	}
	cut = f.Clone()
	cut.L4.Backends[1].Maintenance = farm.MaintenanceCut
	a.publish(cut)
	a.publish(f)
	if n, list := a.engine.SessionsOf(1).List(100); n != 0 {
		t.Errorf("%d sessions of a backend that was cut while the farm ran are left: %v", n, list)
	}
}

// A new engine has the sessions of the previous one, even for farms it does not serve yet.
func TestSessionsOutliveTheEngine(t *testing.T) {
	mem := newAppliance(t, 1).Memory(t, session.MemorySize)
	one, two := serve(t, name("one")), serve(t, name("two"))
	for engine := range 2 {
		m, err := session.OpenMemory(mem)
		if err != nil {
			t.Fatal(err)
		}
		a := newAppliance(t, 1)
		f := a.farm(one.at(), two.at())
		f.L4.Persist = farm.L4PersistSrc
		a.engine.KeepSessions(m)
		if engine == 0 {
			a.publish(f)
			if v := a.engine.SessionsOf(1); !v.Table.Put([]byte("192.0.2.7"), 2, session.Now()) {
				t.Fatal("no session was made")
			}
			continue
		}
		owners := a.engine.SessionOwners(&farm.Config{Farms: []farm.Farm{f, {HTTP: farm.DefaultHTTP()}}})
		if m.Retain(owners...); len(owners) != 1 {
			t.Errorf("%d tables for one farm", len(owners))
		}
		a.publish(f)
		if s, ok := a.engine.SessionsOf(1).Find([]byte("192.0.2.7")); !ok || s.Backend != 2 {
			t.Errorf("the next engine knows %+v, %t", s, ok)
		}
		quic := f.Clone()
		quic.L4.QUIC = true
		if of := a.engine.SessionOwners(&farm.Config{Farms: []farm.Farm{quic}}); len(of) != 2 || of[0] == of[1] || of[0] != owners[0] {
			t.Errorf("tables of a farm with QUIC: %v, of the same without: %v", of, owners)
		}
	}
}

func TestMissingSessionTableHasAReason(t *testing.T) {
	a := newAppliance(t, 1)
	a.publish(a.farm("127.0.0.1:9"))
	for service, runs := range map[uint32]bool{1: true, 2: false} {
		v := a.engine.SessionsOf(service)
		if v.Table != nil || v.Err == nil || errors.Is(v.Err, forward.ErrNoFarm) == runs || a.engine.RunsService(service) != runs {
			t.Errorf("service %d: %v", service, v.Err)
		}
	}
}

func TestExpiredSessionsAreNotUsed(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
	f.L4.Persist, f.L4.TTL = farm.L4PersistSrc, 1
	a.publish(f)
	from(t, f, clientAt(1))
	if _, ok := a.engine.SessionsOf(1).Find([]byte("127.0.1.2")); !ok {
		t.Fatal("there is no session")
	}
	eventually(t, "the session has expired", func() bool {
		_, ok := a.engine.SessionsOf(1).Find([]byte("127.0.1.2"))
		return !ok
	})
}

// Adding or removing a backend moves only its share of the clients, plus one percent.
func TestRemovedBackendMovesFewHashedClients(t *testing.T) {
	const backends, clients = 10, 4000
	for _, algorithm := range []farm.L4Algorithm{farm.L4HashSrc, farm.L4HashFlow, farm.L4HashSrcPt, farm.L4SymHash} {
		t.Run(string(algorithm), func(t *testing.T) {
			a := newAppliance(t, 1)
			f := a.farm()
			f.L4.Algorithm = algorithm
			for i := range backends {
				f.L4.Backends = append(f.L4.Backends, farm.Backend{ID: uint32(i + 1), Host: "127.0.0.1", Addr: f.VIP, Port: uint16(i + 1)})
			}
			a.publish(f)
			q := func(i int) explain.Question {
				return explain.Question{From: fmt.Sprintf("10.%d.%d.1:%d", i/250, i%250, 1+i)}
			}
			before, share := make([]int, clients), map[int]int{}
			for i := range clients {
				before[i], _ = a.explained(q(i))
				share[before[i]]++
			}
			for b, n := range share {
				if n < clients/backends*3/4 || n > clients/backends*5/4 {
					t.Errorf("backend %d has %d of %d clients", b, n, clients)
				}
			}
			f.L4.Backends = f.L4.Backends[1:]
			a.publish(f)
			moved := 0
			for i := range clients {
				if now, _ := a.explained(q(i)); before[i] == 0 || now+1 != before[i] {
					moved++
				}
			}
			if most := clients/backends + clients/100 + share[0] - clients/backends; moved > most {
				t.Errorf("%d clients moved, %d of them had to", moved, share[0])
			}
		})
	}
}

// symhash is the same for both directions of a connection.
func TestSymmetricHashIgnoresDirection(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(refusedAddr(t), refusedAddr(t), refusedAddr(t), refusedAddr(t))
	f.L4.Algorithm, f.VIP = farm.L4SymHash, netip.IPv4Unspecified()
	a.Files[f.Listeners()[0].Key()] = a.Files["tcp/127.0.0.1:"+f.L4.PortsText()]
	port := f.L4.Ports[0].First
	a.publish(f)
	for i := range 50 {
		one, other := fmt.Sprintf("10.0.0.%d:%d", i, port), fmt.Sprintf("10.0.1.%d:%d", i, port)
		there, _ := a.explained(explain.Question{From: one, To: other})
		back, _ := a.explained(explain.Question{From: other, To: one})
		if there != back {
			t.Fatalf("%s to %s uses backend %d, the reverse direction %d", one, other, there, back)
		}
	}
}

func TestLeastConnectionsCountsOpenConnections(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
	f.L4.Algorithm = farm.L4LeastConn
	f.L4.Backends[0].Weight = 3
	a.publish(f)
	got := map[string]int{}
	for range 16 {
		got[line(t, a.dial(f))]++
	}
	if got["0"] != 12 || got["1"] != 4 {
		t.Errorf("connections went to %v", got)
	}
}

func TestPriorityLevelsFollowTheLayer4Rule(t *testing.T) {
	a := newAppliance(t, 1)
	var at []string
	for i := range 4 {
		at = append(at, serve(t, name(fmt.Sprint(i))).at())
	}
	f := a.farm(at...)
	for i, p := range []uint8{1, 1, 2, 3} {
		f.L4.Backends[i].Priority = p
	}
	f.L4.Backends[0].Maintenance, f.L4.Backends[1].Maintenance = farm.MaintenanceDrain, farm.MaintenanceDrain
	a.publish(f)
	got := map[string]int{}
	for range 8 {
		got[line(t, a.dial(f))]++
	}
	if got["2"] != 4 || got["3"] != 4 {
		t.Errorf("two unusable backends of priority 1 open level 3: connections went to %v", got)
	}
}

func TestWildcardFarmKnowsTheUsedAddress(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
	at := a.Listen(a.t, "0.0.0.0")
	f.VIP, f.L4.Ports = at.Addr(), []farm.PortRange{{First: at.Port(), Last: at.Port()}}
	f.L4.Persist = farm.L4PersistDst
	a.publish(f)
	c, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.44"), at.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	line(t, c)
	if _, ok := a.engine.SessionsOf(1).Find([]byte("127.0.0.44")); !ok {
		t.Error("there is no session of the address that was used")
	}
}

func TestRelayingDoesNotAllocate(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, echo).at())
	f.L4.Persist, f.L4.ProxyOut = farm.L4PersistSrcSrc, farm.ProxyOutOff
	a.publish(f)
	c := a.dial(f)
	message := make([]byte, 1000)
	exchange := func() {
		_, _ = c.Write(message)
		_, _ = io.ReadFull(c, message)
	}
	for range 100 {
		exchange()
	}
	if n := testing.AllocsPerRun(500, exchange); n > 0 {
		t.Errorf("%g allocations for a message and its answer", n)
	}
}

func TestConnectionsAllocateLittle(t *testing.T) {
	a := newAppliance(t, 1)
	backend, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	f := a.farm(backend.Addr().String())
	f.L4.Persist = farm.L4PersistSrc
	a.publish(f)
	one := func() {
		c, err := net.Dial("tcp", address(f))
		if err != nil {
			t.Error(err)
			return
		}
		b, err := backend.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_ = b.Close()
		_, _ = c.Read(make([]byte, 1))
		_ = c.Close()
	}
	for range 200 {
		one()
	}
	// The allocations of the test's own client and server are measured without a farm.
	direct := testing.AllocsPerRun(300, func() {
		c, err := net.Dial("tcp", backend.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		b, err := backend.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_ = b.Close()
		_, _ = c.Read(make([]byte, 1))
		_ = c.Close()
	})
	if n := testing.AllocsPerRun(300, one) - direct; n > 1 {
		t.Errorf("%g allocations for a connection", n)
	}
}

// A temporarily full backend keeps its clients. Another one serves them meanwhile, and they
// return once there is room. A down backend loses them.
func TestClientsOfAFullBackendReturnToIt(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("0")).at(), serve(t, name("1")).at())
	f.L4.Persist, f.L4.Algorithm = farm.L4PersistSrc, farm.L4RoundRobin
	f.L4.Backends[0].ConnLimit = 1
	f.L4.Backends[0].Sessions = []string{"127.0.1.1"}
	a.publish(f)
	other := 2
	for from(t, f, clientAt(other)) != "0" {
		other++
	}
	eventually(t, "its connection to be over", func() bool { return a.stats().Established == 0 })
	held := a.dial(f) // from 127.0.0.1; it occupies the only place
	for line(t, held) != "0" {
		_, _ = a.engine.SessionsOf(1).Forget([]byte("127.0.0.1"))
		_ = held.Close()
		held = a.dial(f)
	}
	for range 3 {
		for _, i := range []int{0, other} {
			if got := from(t, f, clientAt(i)); got != "1" {
				t.Errorf("while backend 0 is full client %d came to %s, want %s", i, got, "1")
			}
		}
	}
	_ = held.Close()
	eventually(t, "there is room", func() bool { return a.stats().Established == 0 })
	for _, i := range []int{0, other} {
		if got := from(t, f, clientAt(i)); got != "0" {
			t.Errorf("with room again client %d came to %s, want %s", i, got, "0")
		}
		eventually(t, "its connection to be over", func() bool { return a.stats().Established == 0 })
	}
	for _, state := range []health.State{health.Down, health.Up} {
		a.health.SetGuardian(1, state, time.Now())
		if got := from(t, f, clientAt(other)); got != "1" {
			t.Errorf("after its backend was down (%v) the client came to %s, want %s", state, got, "1")
		}
	}
}
