package forward_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
	"github.com/sluicelb/sluice/core/porttest"
)

// echoFarm additionally serves a farm that proves that the engine is alive.
func (a *appliance) echoFarm() farm.Farm {
	a.t.Helper()
	f := a.farm(serve(a.t, name("alive")).at())
	f.ID, f.Name, f.L4.ID, f.L4.Backends[0].ID = 2, "second", 2, 100
	a.publish(append(a.published, f)...)
	return f
}

// reset reports whether a client of the farm is reset.
func reset(f farm.Farm) bool {
	c, err := net.Dial("tcp", address(f))
	if err == nil {
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		_, err = c.Read(make([]byte, 1))
	}
	return errors.Is(err, syscall.ECONNRESET)
}

func TestConnectionLimitsHold(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("first")).at(), serve(t, name("second")).at())
	f.L4.Backends[0].ConnLimit, f.L4.MaxConnections = 2, 5
	a.publish(f)
	got := map[string]int{}
	var open []net.Conn
	for range 5 {
		c := a.dial(f)
		got[line(t, c)]++
		open = append(open, c)
	}
	if got["first"] != 2 || got["second"] != 3 {
		t.Errorf("connections went to %v", got)
	}
	if !reset(f) {
		t.Error("a sixth client was served")
	}
	eventually(t, "the log says so", func() bool { return a.Log.Has("class=too-many-clients") })
	_ = open[0].Close()
	eventually(t, "one more is let in", func() bool { return a.stats().Established == 4 })
	line(t, a.dial(f))
	next := f.Clone()
	next.L4.Backends[0].ConnLimit, next.L4.Backends[1].ConnLimit, next.L4.MaxConnections = 1, 1, 0
	a.publish(next)
	if !reset(next) {
		t.Error("a client was served though all backends are full")
	}
}

// A limit that is set later counts existing clients.
func TestNewLimitsCountExistingClients(t *testing.T) {
	limits := map[string]func(l *farm.L4){
		"farm":    func(l *farm.L4) { l.MaxConnections = 1 },
		"backend": func(l *farm.L4) { l.Backends[0].ConnLimit = 1 },
	}
	for what, limit := range limits {
		t.Run("tcp "+what, func(t *testing.T) {
			a := newAppliance(t, 1)
			f := a.farm(serve(t, name("one")).at())
			a.publish(f)
			line(t, a.dial(f))
			f = f.Clone()
			limit(f.L4)
			a.publish(f)
			if !reset(f) {
				t.Error("a second client was served")
			}
		})
		t.Run("udp "+what, func(t *testing.T) {
			a := newAppliance(t, 1)
			f := a.farmUDP(namedServer(t, "one").at())
			a.publish(f)
			ask(t, a.dialUDP(f), "x")
			f = f.Clone()
			limit(f.L4)
			a.publish(f)
			_, _ = a.dialUDP(f).Write([]byte("x"))
			eventually(t, "a second client is refused", func() bool { return a.stats().Dropped == 1 })
		})
	}
}

func TestSilentConnectionsEndAfterTheIdleTime(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("hello")).at())
	f.L4.IdleTimeout = 1
	a.publish(f)
	c := a.dial(f)
	line(t, c)
	for range 4 { // active clients stay connected
		time.Sleep(400 * time.Millisecond)
		_, _ = io.WriteString(c, "x\n")
		line(t, c)
	}
	began := time.Now()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("it took only %v", took)
	}
	if got := a.stats().Timeouts; got != 1 {
		t.Errorf("%d were counted", got)
	}
}

// A connection without any data counts as idle, too.
func TestConnectionsWithoutAByteEndAfterTheIdleTime(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, echo).at())
	f.L4.IdleTimeout = 1
	a.publish(f)
	if _, err := io.ReadAll(a.dial(f)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
}

func TestTimedOutConnectTriesTheNextBackend(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(porttest.Full(t).String(), serve(t, name("second")).at())
	f.L4.ConnectTimeout = 1
	a.publish(f)
	if got := line(t, a.dial(f)); got != "second" {
		t.Errorf("got %q, want %q", got, "second")
	}
	if got := a.health.Slot(1).Passive(); got != health.Down {
		t.Errorf("the first backend is %v, want %v", got, health.Down)
	}
}

func TestRecoveredBackendsAreUsed(t *testing.T) {
	a := newAppliance(t, 1)
	port := enginetest.NewSilent(t)
	f := a.farm(port.Addr, serve(t, name("second")).at())
	f.L4.ResurrectTime, f.L4.Algorithm = 1, farm.L4Priority
	a.publish(f)
	if got := line(t, a.dial(f)); got != "second" {
		t.Fatalf("got %q, want %q", got, "second")
	}
	ln := port.Listen()
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "first\n")
			_ = c.Close()
		}
	}()
	eventually(t, "the backend is up again", func() bool { return a.health.Slot(1).Usable() })
	if got := line(t, a.dial(f)); got != "first" {
		t.Errorf("got %q, want %q", got, "first")
	}
}

func TestConnectionsUseTheConfiguredSource(t *testing.T) {
	a := newAppliance(t, 1)
	from := make(chan string, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
		from <- host
	}).at())
	f.L4.Source = netip.MustParseAddr("127.0.0.9")
	a.publish(f)
	a.dial(f)
	if got := <-from; got != "127.0.0.9" {
		t.Errorf("from %s, want %s", got, "127.0.0.9")
	}
	f.L4.Backends[0].Source = netip.MustParseAddr("127.0.0.10")
	a.publish(f)
	a.dial(f)
	if got := <-from; got != "127.0.0.10" {
		t.Errorf("from %s, though the backend has a source of its own", got)
	}
}

// A backend without a port is reached on the client's virtual port.
func TestBackendsWithoutPortGetTheVirtualPort(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm()
	second := a.Listen(a.t, "127.0.0.1")
	f.L4.Ports = append(f.L4.Ports, farm.PortRange{First: second.Port(), Last: second.Port()})
	f.L4.Backends = []farm.Backend{{ID: 1, Host: "127.0.0.77", Addr: netip.MustParseAddr("127.0.0.77")}}
	for _, r := range f.L4.Ports {
		port := r.First
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.77:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				fmt.Fprintf(c, "%d\n", port)
				_ = c.Close()
			}
		}()
	}
	a.publish(f)
	for _, r := range f.L4.Ports {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", r.First))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := line(t, c); got != fmt.Sprint(r.First) {
			t.Errorf("a client of port %d came to %s", r.First, got)
		}
	}
}

// A client waiting for a connect continues with the backends of the new configuration.
func TestWaitingClientUsesTheNewConfiguration(t *testing.T) {
	for what, c := range map[string]struct {
		connectTimeout  farm.Seconds
		before, changed func(l *farm.L4)
	}{
		"another backend was added": {1, func(l *farm.L4) { l.Backends = l.Backends[:1] }, func(*farm.L4) {}},
		"its backend was deleted":   {60, func(*farm.L4) {}, func(l *farm.L4) { l.Backends = l.Backends[1:] }},
		"its backend was cut":       {60, func(*farm.L4) {}, func(l *farm.L4) { l.Backends[0].Maintenance = farm.MaintenanceCut }},
	} {
		a := newAppliance(t, 1)
		f := a.farm(porttest.Full(t).String(), serve(t, name("next")).at())
		f.L4.Algorithm, f.L4.ConnectTimeout = farm.L4RoundRobin, c.connectTimeout
		first := f.Clone()
		c.before(first.L4)
		a.publish(first)
		client := a.dial(f)
		eventually(t, "it is being connected", func() bool { return a.stats().Pending == 1 && a.backend(1).Pending == 1 })
		c.changed(f.L4)
		a.publish(f)
		if got := line(t, client); got != "next" {
			t.Errorf("%s: served by %q, want %q", what, got, "next")
		}
		if n := a.backend(1); n.Pending != 0 || n.Established != 0 {
			t.Errorf("%s: counted at the first backend: %+v", what, n)
		}
	}
}
