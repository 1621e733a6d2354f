package forward_test

import (
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/descriptortest"
	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// IPv6 datagrams may be longer than IPv4 ones, so the longest from one side cannot be
// forwarded to the other.
func TestUndeliverableDatagramsAreCounted(t *testing.T) {
	const longest = 65527
	if c, err := net.ListenPacket("udp", "[::1]:0"); err != nil {
		t.Skip("not shown: this machine has no IPv6")
	} else {
		_ = c.Close()
	}
	long, zero := strings.Repeat("x", longest), uint16(0)
	for name, c := range map[string]struct {
		at, backend string
		responses   *uint16
		text        string
	}{
		"to the backend":              {"::1", "127.0.0.1:0", nil, long},
		"to a backend that is silent": {"::1", "127.0.0.1:0", &zero, long},
		"to the client":               {"127.0.0.1", "[::1]:0", nil, "answer at length"},
	} {
		t.Run(name, func(t *testing.T) {
			back, err := net.ListenPacket("udp", c.backend)
			if err != nil {
				t.Fatal(err)
			}
			defer back.Close()
			a := newAppliance(t, 1)
			f := a.farmAt(farm.L4UDP, a.ListenUDP(t, c.at), []string{back.LocalAddr().String()})
			f.VIP, f.L4.Responses = netip.MustParseAddr(c.at), c.responses
			a.publish(f)
			client := a.dialUDP(f)
			if _, err := client.Write([]byte(c.text)); err != nil {
				t.Skip("not shown: datagrams of that length do not leave:", err)
			}
			buf := make([]byte, 1<<16)
			_ = back.SetDeadline(time.Now().Add(20 * time.Second))
			if c.text != long {
				_, from, err := back.ReadFrom(buf)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := back.WriteTo([]byte(long), from); err != nil {
					t.Skip("not shown: datagrams of that length do not leave:", err)
				}
			}
			eventually(t, "it is counted", func() bool { return a.stats().Dropped == 1 })
			_, _ = client.Write([]byte("short"))
			if n, _, err := back.ReadFrom(buf); err != nil || string(buf[:n]) != "short" {
				t.Errorf("the next one is %.20q, %v", buf[:n], err)
			}
			if s := a.stats(); s.Dropped != 1 || s.Established != 1 || s.Connections != 1 {
				t.Errorf("counted %+v", s)
			}
		})
	}
}

// The error occurs immediately, not after sending.
func TestUnconnectableUDPBackendIsDown(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP("255.255.255.255:9", namedServer(t, "there").at())
	f.L4.ResurrectTime = 3600
	a.publish(f)
	for range 3 {
		if got := ask(t, a.dialUDP(f), "hello"); got != "there" {
			t.Errorf("answered %q, want %q", got, "there")
		}
	}
	if b := a.backend(1); a.health.Slot(1).Passive() != health.Down || b.ConnectFailures != 1 || b.Connects != 0 || b.Established != 0 {
		t.Errorf("%v, counted %+v", a.health.Slot(1).Passive(), b)
	}
}

// noDescriptors uses up all descriptors of the process; give releases one.
func noDescriptors(t *testing.T) (give func()) {
	t.Helper()
	restore := descriptortest.Limit(t, 300)
	var taken []*os.File
	t.Cleanup(func() {
		for _, f := range taken {
			_ = f.Close()
		}
		restore()
	})
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	return func() {
		_ = taken[0].Close()
		taken = taken[1:]
	}
}

// A recently active client keeps its flow, unless it is unconfirmed.
func TestWithoutDescriptorsAnIdleFlowMakesRoom(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.IdleTimeout = 300
	a.publish(f)
	one, two, three := a.dialUDP(f), a.dialUDP(f), a.dialUDP(f)
	give := noDescriptors(t)
	dropped := func(c *net.UDPConn, n uint64) {
		t.Helper()
		_, _ = io.WriteString(c, "x")
		eventually(t, "its datagram is dropped", func() bool { return a.stats().Dropped == n })
	}
	dropped(one, 1) // there is no other flow
	if s := a.stats(); s.Established != 0 || s.Evicted != 0 || a.health.Slot(1).Passive() == health.Down || a.backend(1).ConnectFailures != 1 {
		t.Errorf("counted %+v and %+v", s, a.backend(1))
	}
	give()
	ask(t, one, "x")
	ask(t, two, "x") // one is unconfirmed
	spoke := time.Now()
	ask(t, two, "x") // two has reacted to a response
	if s := a.stats(); s.Established != 1 || s.Evicted != 1 {
		t.Errorf("counted %+v", s)
	}
	_, _ = io.WriteString(three, "x")
	eventually(t, "three is not let in", func() bool { s := a.stats(); return s.Dropped == 2 || s.Evicted == 2 })
	if s := a.stats(); s.Evicted != 1 && time.Since(spoke) < time.Second {
		t.Errorf("a recently active client was evicted: %+v", s)
	}
	enginetest.Advance(a.loops[0], 2*time.Second)
	ask(t, three, "x") // two has been silent for long
	if s := a.stats(); s.Established != 1 || s.Evicted != 2 {
		t.Errorf("counted %+v", s)
	}
}

// The last data of a backend, often the reason for its end, reaches a client that keeps
// sending.
func TestLastBackendBytesReachASendingClient(t *testing.T) {
	a := newAppliance(t, 1)
	end := make(chan bool)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "hello\n")
		<-end
		_, _ = io.WriteString(c, "reason\n")
		_ = c.SetLinger(0)
		_ = c.Close()
		end <- true
	}).at())
	a.publish(f)
	c := a.dial(f)
	line(t, c)
	held, busy := make(chan bool), make(chan bool)
	a.loops[0].Post(func() { close(held); <-busy })
	<-held
	_, _ = io.WriteString(c, "more")
	end <- true
	<-end
	close(busy)
	if got := line(t, c); got != "reason" {
		t.Errorf("the client got %q, want %q", got, "reason")
	}
	if _, err := io.ReadAll(c); err == nil {
		t.Error("the reset of the backend is no reset for the client")
	}
	eventually(t, "nothing is under way", func() bool { return a.stats().Established == 0 })
}
