package forward_test

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
)

// farmUDP returns a UDP farm with those backends, numbered from 1.
func (a *appliance) farmUDP(backends ...string) farm.Farm {
	a.t.Helper()
	return a.farmAt(farm.L4UDP, a.ListenUDP(a.t, "127.0.0.1"), backends)
}

// farmAt returns a round-robin farm of that protocol.
func (a *appliance) farmAt(protocol farm.L4Protocol, at netip.AddrPort, backends []string) farm.Farm {
	a.t.Helper()
	f := a.farm(backends...)
	f.L4.Protocol, f.L4.Algorithm = protocol, farm.L4RoundRobin
	f.L4.Ports = []farm.PortRange{{First: at.Port(), Last: at.Port()}}
	return f
}

// dialUDP returns a new client of a farm.
func (a *appliance) dialUDP(f farm.Farm) *net.UDPConn {
	a.t.Helper()
	c, err := net.Dial("udp", address(f))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.UDPConn)
}

// sink is a backend that records datagrams and responds with reply(text).
type sink struct {
	*net.UDPConn
	got  chan string
	sent atomic.Int64
}

// answering starts a backend; nil means no responses.
func answering(t testing.TB, reply func(text string) []string) *sink {
	t.Helper()
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadBuffer(4 << 20)
	s := &sink{UDPConn: c, got: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			s.sent.Add(1)
			select {
			case s.got <- string(buf[:n]):
			default:
			}
			if reply == nil {
				continue
			}
			for _, r := range reply(string(buf[:n])) {
				_, _ = c.WriteToUDPAddrPort([]byte(r), from)
			}
		}
	}()
	t.Cleanup(func() { _ = c.Close(); <-done })
	return s
}

func (s *sink) at() string { return s.LocalAddr().String() }

func same(text string) []string { return []string{text} }

// namedServer starts a backend that responds with its name.
func namedServer(t testing.TB, name string) *sink {
	return answering(t, func(string) []string { return []string{name} })
}

func ask(t testing.TB, c *net.UDPConn, text string) string {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return hear(t, c)
}

func hear(t testing.TB, c *net.UDPConn) string {
	t.Helper()
	buf := make([]byte, 1<<16)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

// noAnswer fails if a response arrives within a moment.
func noAnswer(t testing.TB, c *net.UDPConn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	defer func() { _ = c.SetReadDeadline(time.Now().Add(20 * time.Second)) }()
	if n, err := c.Read(make([]byte, 100)); err == nil {
		t.Errorf("an answer of %d bytes came", n)
	}
}

func (a *appliance) flows() int { return int(a.stats().Established) }

func TestFlowUsesOneBackendInBothDirections(t *testing.T) {
	a := newAppliance(t, 2)
	one, two := namedServer(t, "one"), namedServer(t, "two")
	f := a.farmUDP(one.at(), two.at())
	a.publish(f)
	seen := map[string]int{}
	for range 10 {
		c := a.dialUDP(f)
		first := ask(t, c, "hello")
		seen[first]++
		for range 3 {
			if again := ask(t, c, "again"); again != first {
				t.Errorf("%s answered after %s", again, first)
			}
		}
	}
	if seen["one"] != 5 || seen["two"] != 5 {
		t.Errorf("clients per backend: %v", seen)
	}
	s, b := a.stats(), a.backend(1)
	if s.Connections != 10 || s.Established != 10 || s.PacketsIn != 40 || s.PacketsOut != 40 || s.BytesIn != 200 || s.BytesOut != 120 {
		t.Errorf("counted %+v", s)
	}
	if b.PacketsOut != 20 || b.PacketsIn != 20 || b.BytesOut != 100 || b.BytesIn != 60 || b.Established != 5 || b.Connects != 5 {
		t.Errorf("counted of a backend %+v", b)
	}
}

func TestDatagramsOfEveryLengthPassUnchanged(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	a.publish(f)
	c := a.dialUDP(f)
	for _, n := range []int{0, 1, 1200, 1500, 65507} {
		want := string(bytes.Repeat([]byte{byte(n)}, n))
		if got := ask(t, c, want); got != want {
			t.Errorf("%d bytes became %d", n, len(got))
		}
	}
}

func TestAnsweredFlowFreesItsSocket(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, func(text string) []string { return []string{text, text} }).at())
	two := uint16(2)
	f.L4.Responses = &two
	a.publish(f)
	c := a.dialUDP(f)
	before := descriptors(t)
	for range 50 {
		if ask(t, c, "x") != "x" || hear(t, c) != "x" {
			t.Fatal("answered wrong")
		}
	}
	// Two requests at once allow two responses per flow.
	_, _ = c.Write([]byte("y"))
	_, _ = c.Write([]byte("y"))
	for range 4 {
		hear(t, c)
	}
	eventually(t, "no flow is left", func() bool { return a.flows() == 0 })
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestUnansweredFlowsShareASocket(t *testing.T) {
	a := newAppliance(t, 1)
	one, two := answering(t, nil), answering(t, nil)
	f := a.farmUDP(one.at(), two.at())
	zero := uint16(0)
	f.L4.Responses = &zero
	a.publish(f)
	var clients []*net.UDPConn
	for range 50 {
		clients = append(clients, a.dialUDP(f))
	}
	for i, c := range clients {
		_, _ = fmt.Fprintf(c, "line %d", i)
	}
	eventually(t, "all lines arrived", func() bool { return one.sent.Load() == 25 && two.sent.Load() == 25 })
	for _, b := range []*sink{one, two} {
		if n := connected(t, b.at()); n != 1 {
			t.Errorf("%d sockets for 25 flows to one backend", n)
		}
	}
	if a.flows() != 50 {
		t.Errorf("%d flows of 50 clients", a.flows())
	}
	_ = two.Close()
	a.publish(f) // the flows and their sockets belong to the new table
	eventually(t, "the backend that is gone is down, and its flows have ended", func() bool {
		for _, c := range clients[:2] { // one of them uses that backend
			_, _ = c.Write([]byte("more"))
		}
		return a.health.Slot(2).Passive() == health.Down && a.flows() <= 26 && connected(t, two.at()) == 0
	})
	if a.backend(2).ConnectFailures == 0 || a.backend(1).Established != uint64(a.flows()) {
		t.Errorf("counted %+v and %+v", a.backend(1), a.backend(2))
	}
	for _, c := range clients {
		_, _ = c.Write([]byte("again"))
	}
	eventually(t, "all go to the backend that is there", func() bool { return a.backend(1).Established == 50 && a.flows() == 50 })
}

func TestIdleFlowsEnd(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout = 1
	a.publish(f)
	busy := a.dialUDP(f)
	began := time.Now()
	for range 20 {
		ask(t, a.dialUDP(f), "once")
	}
	n := a.flows()
	if time.Since(began) < time.Second && n != 20 || a.stats().Connections != 20 {
		t.Fatalf("%d flows of 20", n)
	}
	ask(t, busy, "x")
	used, gap := time.Now(), time.Duration(0) // gap is the longest time without use
	eventually(t, "only the one in use is left", func() bool {
		ask(t, busy, "x")
		gap, used = max(gap, time.Since(used)), time.Now()
		return a.flows() == 1
	})
	if n := a.stats().Connections; n != 21 && gap < 900*time.Millisecond {
		t.Errorf("the flow in use ended: %d flows began, want 21", n)
	}
}

// goneUDP returns an address without a datagram socket.
func goneUDP(t testing.TB) string {
	t.Helper()
	return porttest.UDP(t).String()
}

// Datagrams in one direction keep a flow alive.
func TestAFlowLivesWhileEitherSideSends(t *testing.T) {
	a := newAppliance(t, 1)
	back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	f := a.farmUDP(back.LocalAddr().String())
	f.L4.IdleTimeout = 1
	a.publish(f)
	talks, listens := a.dialUDP(f), a.dialUDP(f)
	_, _ = listens.Write([]byte("hello"))
	_ = back.SetDeadline(time.Now().Add(20 * time.Second))
	_, listener, err := back.ReadFromUDPAddrPort(make([]byte, 10))
	if err != nil {
		t.Fatal(err)
	}
	gap, last := time.Duration(0), time.Now()
	for range 13 { // a flow ends within a second of its idle time
		_, _ = talks.Write([]byte("x"))
		_, _ = back.WriteToUDPAddrPort([]byte("y"), listener)
		hear(t, listens)
		time.Sleep(200 * time.Millisecond)
		gap, last = max(gap, time.Since(last)), time.Now()
	}
	if n := a.stats().Connections; n != 2 && gap < 900*time.Millisecond {
		t.Errorf("%d flows of two clients", n)
	}
}

func TestFirstDatagramIsResentToTheNextBackend(t *testing.T) {
	a := newAppliance(t, 1)
	there := namedServer(t, "there")
	f := a.farmUDP(goneUDP(t), goneUDP(t), there.at())
	f.L4.ResurrectTime = 3600
	a.publish(f)
	for _, first := range []string{"", "hello", "hello", "", "hello", "hello"} {
		if got := ask(t, a.dialUDP(f), first); got != "there" {
			t.Errorf("answered %q, want %q", got, "there")
		}
	}
	if a.health.Slot(1).Passive() != health.Down || a.health.Slot(2).Passive() != health.Down || a.health.Slot(3).Passive() != health.Up {
		t.Errorf("found %v, %v, %v", a.health.Slot(1).Passive(), a.health.Slot(2).Passive(), a.health.Slot(3).Passive())
	}
	if b := a.backend(1); b.ConnectFailures != 1 {
		t.Errorf("%d datagrams were sent to a backend known to be down", b.ConnectFailures)
	}
	if got := [3]uint64{a.backend(1).Retries, a.backend(2).Retries, a.backend(3).Retries}; got != [3]uint64{1, 1, 0} {
		t.Errorf("clients that moved on from each backend: %d", got)
	}
}

func TestDownBackendIsRetriedAfterResurrectTime(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(goneUDP(t), namedServer(t, "there").at())
	f.L4.ResurrectTime = 1
	a.publish(f)
	if got := ask(t, a.dialUDP(f), "hello"); got != "there" {
		t.Errorf("answered %q, want %q", got, "there")
	}
	if b := a.backend(1); b.ConnectFailures != 1 {
		t.Errorf("%d datagrams failed", b.ConnectFailures)
	}
	eventually(t, "it counts as up again", func() bool { return a.health.Slot(1).Passive() == health.Up })
}

func TestFlowsLeaveABackendThatWentDown(t *testing.T) {
	a := newAppliance(t, 1)
	one, two := namedServer(t, "one"), namedServer(t, "two")
	f := a.farmUDP(one.at(), two.at())
	a.publish(f)
	c := a.dialUDP(f)
	if ask(t, c, "x") != "one" {
		t.Fatal("another backend than expected")
	}
	_ = one.Close()
	_, _ = c.Write([]byte("lost"))
	eventually(t, "the backend is down", func() bool { return a.health.Slot(1).Passive() == health.Down })
	if got := ask(t, c, "next"); got != "two" {
		t.Errorf("answered by %q, want %q", got, "two")
	}
}

// A backend found down by a check is silent, without ICMP errors.
func TestFlowLeavesADownBackend(t *testing.T) {
	a := newAppliance(t, 1)
	one, two := namedServer(t, "one"), namedServer(t, "two")
	f := a.farmUDP(one.at(), two.at())
	a.publish(f)
	c := a.dialUDP(f)
	if ask(t, c, "x") != "one" {
		t.Fatal("another backend than expected")
	}
	a.health.SetGuardian(1, health.Down, time.Now())
	if got := ask(t, c, "next"); got != "two" {
		t.Errorf("answered by %q, which is down", got)
	}
	a.health.SetGuardian(1, health.Up, time.Now())
	if got := ask(t, c, "stays"); got != "two" || a.flows() != 1 {
		t.Errorf("answered by %q, %d flows", got, a.flows())
	}
	a.health.SetGuardian(1, health.Down, time.Now())
	a.health.SetGuardian(2, health.Down, time.Now())
	if got := ask(t, c, "there is no better one"); got != "two" {
		t.Errorf("answered by %q, want %q", got, "two")
	}
}

func TestWithoutABackendDatagramsAreDroppedAndCounted(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(goneUDP(t))
	a.publish(f)
	a.health.SetGuardian(1, health.Down, time.Now()) // otherwise some datagrams try it
	c := a.dialUDP(f)
	for range 3 {
		_, _ = c.Write([]byte("x"))
		time.Sleep(10 * time.Millisecond)
	}
	eventually(t, "they are counted", func() bool { s := a.stats(); return s.NoBackend == 3 && s.Dropped == 3 })
	if a.flows() != 0 {
		t.Errorf("%d flows", a.flows())
	}
}

func TestFlowsOfAFarmAndOfABackendAreBounded(t *testing.T) {
	a := newAppliance(t, 2)
	one, two := namedServer(t, "one"), namedServer(t, "two")
	f := a.farmUDP(one.at(), two.at())
	f.L4.MaxConnections = 5
	f.L4.Backends[0].ConnLimit = 2
	a.publish(f)
	seen := map[string]int{}
	for range 5 {
		seen[ask(t, a.dialUDP(f), "x")]++
	}
	if seen["one"] != 2 || seen["two"] != 3 {
		t.Errorf("clients per backend: %v", seen)
	}
	c := a.dialUDP(f)
	_, _ = c.Write([]byte("x"))
	noAnswer(t, c)
	if s := a.stats(); s.Dropped != 1 || s.Established != 5 {
		t.Errorf("%d dropped, %d flows", s.Dropped, s.Established)
	}
}

func TestPersistenceCoversAllFlowsOfAClient(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farmUDP(namedServer(t, "one").at(), namedServer(t, "two").at())
	f.L4.Persist = farm.L4PersistSrc
	a.publish(f)
	first := ask(t, a.dialUDP(f), "x")
	for range 6 {
		if got := ask(t, a.dialUDP(f), "x"); got != first {
			t.Errorf("%s after %s", got, first)
		}
	}
	if n, list := a.engine.SessionsOf(1).List(10); n != 1 || string(list[0].Key) != "127.0.0.1" {
		t.Errorf("sessions: %v", list)
	}
}

func TestReloadAndDrainKeepFlowsCutEndsThem(t *testing.T) {
	a := newAppliance(t, 1)
	one, two := namedServer(t, "one"), namedServer(t, "two")
	f := a.farmUDP(one.at(), two.at())
	a.publish(f)
	c := a.dialUDP(f)
	if ask(t, c, "x") != "one" {
		t.Fatal("another backend than expected")
	}
	f.L4.Backends[1].Weight = 3
	a.publish(f)
	f.L4.Backends[0].Maintenance = farm.MaintenanceDrain
	a.publish(f)
	if got := ask(t, c, "x"); got != "one" || a.stats().Connections != 1 {
		t.Errorf("a drained backend lost its flow: %s answers", got)
	}
	if got := ask(t, a.dialUDP(f), "x"); got != "two" {
		t.Errorf("a new client came to the drained backend")
	}
	f.L4.Backends[0].Maintenance = farm.MaintenanceCut
	a.publish(f)
	if got := ask(t, c, "x"); got != "two" {
		t.Errorf("%s answers after the cut", got)
	}
	f.L4.Backends = f.L4.Backends[:1]
	f.L4.Backends[0].Maintenance = farm.MaintenanceOff
	a.publish(f)
	if got := ask(t, c, "x"); got != "one" {
		t.Errorf("%s answers after it was deleted", got)
	}
}

func TestStopEndsFlowsAndTheirSockets(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farmUDP(answering(t, same).at())
	before := descriptors(t)
	a.publish(f)
	c := a.dialUDP(f)
	ask(t, c, "x")
	f.Stopped = true
	a.publish(f)
	if a.flows() != 0 {
		t.Errorf("%d flows", a.flows())
	}
	if after := descriptors(t); after > before+1 { // the client's
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestWildcardFarmAnswersFromTheUsedAddress(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	at := a.ListenUDP(a.t, "0.0.0.0")
	f.VIP, f.L4.Ports[0] = at.Addr(), farm.PortRange{First: at.Port(), Last: at.Port()}
	f.L4.Persist = farm.L4PersistDst
	a.publish(f)
	client, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(20 * time.Second))
	for _, ip := range []string{"127.1.1.1", "127.2.2.2"} {
		to := netip.AddrPortFrom(netip.MustParseAddr(ip), at.Port())
		if _, err := client.WriteToUDPAddrPort([]byte("x"), to); err != nil {
			t.Fatal(err)
		}
		_, from, err := client.ReadFromUDPAddrPort(make([]byte, 10))
		if err != nil || from != to {
			t.Errorf("a query to %s, an answer from %s, %v", to, from, err)
		}
	}
	if n, _ := a.engine.SessionsOf(1).List(10); n != 2 {
		t.Errorf("%d sessions by destination", n)
	}
}

func TestBackendWithoutPortGetsTheVirtualPort(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP("127.0.0.1:9")
	back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 5), Port: int(f.L4.Ports[0].First)})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	f.L4.Backends[0].Addr, f.L4.Backends[0].Port = netip.MustParseAddr("127.0.0.5"), 0
	a.publish(f)
	_, _ = a.dialUDP(f).Write([]byte("here"))
	_ = back.SetDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 10)
	if n, _, err := back.ReadFromUDP(buf); err != nil || string(buf[:n]) != "here" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

func TestFlowsSkipBackendsWithAForeignSource(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(namedServer(t, "one").at(), namedServer(t, "two").at())
	f.L4.Backends[0].Source = netip.MustParseAddr("192.0.2.99")
	a.publish(f)
	for range 4 {
		if got := ask(t, a.dialUDP(f), "hello"); got != "two" {
			t.Errorf("got %q, want %q", got, "two")
		}
	}
}
