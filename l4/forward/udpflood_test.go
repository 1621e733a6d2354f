package forward_test

import (
	"net"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
)

// spoof sends one datagram from a socket that is closed at once.
func spoof(t testing.TB, from [4]byte, to netip.AddrPort) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: from}); err != nil {
		t.Fatal(err)
	}
	_ = syscall.Sendto(fd, []byte("x"), syscall.MSG_DONTWAIT, &syscall.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())})
}

// source returns the n-th invented client address: 127.16.0.0 and up.
func source(n int) [4]byte { return [4]byte{127, byte(16 + n>>16), byte(n >> 8), byte(n)} }

func TestFloodOfNewSourcesKeepsExistingFlows(t *testing.T) {
	const regulars = 20
	a := newAppliance(t, 2)
	limit := a.mostFlows(t)
	sources := min(100_000, limit*5/2) // beyond any limit, unless that is very large
	f := a.farmUDP(answering(t, same).at())
	a.publish(f)
	var clients []*net.UDPConn
	for range regulars {
		c := a.dialUDP(f)
		ask(t, c, "one")
		ask(t, c, "two") // confirmed from now on
		clients = append(clients, c)
	}
	before := a.stats()
	to := netip.MustParseAddrPort(address(f))
	stop := make(chan struct{})
	asked := make(chan int)
	go func() {
		n := 0
		defer func() { asked <- n }()
		for {
			for _, c := range clients {
				select {
				case <-stop:
					return
				default:
				}
				if !insist(c, "still here?") {
					t.Error("an existing client is no longer served")
					return
				}
				n++
			}
		}
	}()
	for n := range sources {
		spoof(t, source(n), to)
		if n%64 == 0 {
			runtime.Gosched()
		}
	}
	close(stop)
	n := <-asked
	s := a.stats()
	t.Logf("%d sources, %d flows at the end (%d at most), %d evicted, %d dropped; the others asked %d times", sources, s.Established, limit, s.Evicted, s.Dropped, n)
	if s.Established > uint64(limit) {
		t.Errorf("%d flows, %d are the bound", s.Established, limit)
	}
	if n < regulars {
		t.Errorf("existing clients got %d responses", n)
	}
	if limit < sources/2 && s.Evicted == 0 {
		t.Error("no flow was evicted")
	}
	if s.Connections+s.Dropped < before.Connections+uint64(min(limit, sources)) {
		t.Errorf("%d flows and %d dropped datagrams are all that is counted", s.Connections, s.Dropped)
	}
}

// insist repeats requests without response, as UDP clients do. The number of repetitions on
// a busy machine does not depend on the engine.
func insist(c *net.UDPConn, text string) bool {
	buf := make([]byte, 100)
	for range 100 {
		_, _ = c.Write([]byte(text))
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		if n, err := c.Read(buf); err == nil && string(buf[:n]) == text {
			return true
		}
	}
	return false
}

// mostFlows returns the engine's limit of flows.
func (a *appliance) mostFlows(t testing.TB) int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		t.Fatal(err)
	}
	return int(r.Cur) * 3 / 4
}

func TestAFullTableStillServesNewClients(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout = farm.Seconds(300)
	a.publish(f)
	to := netip.MustParseAddrPort(address(f))
	limit := a.mostFlows(t)
	if limit > 40_000 {
		t.Skipf("not shown: the table holds %d flows", limit)
	}
	for n := range limit + limit/10 {
		spoof(t, source(n), to)
		if n%250 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	for range 5 {
		if !insist(a.dialUDP(f), "new") {
			t.Error("a new client is not served")
		}
	}
}
