package forward_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

func TestBytesGoBothWays(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, echo).at())
	a.publish(f)
	c := a.dial(f)
	for _, text := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
		if got := line(t, c) + "\n"; got != text {
			t.Fatalf("echoed as %q, want %q", got, text)
		}
	}
	s := a.stats()
	if s.Connections != 1 || s.Established != 1 || s.Pending != 0 || s.BytesIn != 8 || s.BytesOut != 8 {
		t.Errorf("counted %+v", s)
	}
	_ = c.Close()
	eventually(t, "the connection is counted out", func() bool { return a.stats().Established == 0 })
	if b := a.backend(1); b.Connects != 1 || b.Established != 0 || b.Pending != 0 || b.BytesIn != 8 || b.BytesOut != 8 {
		t.Errorf("of the backend %+v", b)
	}
}

func TestServerMaySpeakFirst(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("hello")).at())
	a.publish(f)
	if got := line(t, a.dial(f)); got != "hello" {
		t.Fatalf("got %q, want %q", got, "hello")
	}
}

func TestEndOfTheClientLeavesTheAnswerOpen(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c) // responds only after the client's end
		_, _ = c.Write(bytes.ToUpper(all))
	}).at())
	a.publish(f)
	c := a.dial(f)
	_, _ = io.WriteString(c, "all of it")
	_ = c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "ALL OF IT" {
		t.Fatalf("got %q, %v", got, err)
	}
	eventually(t, "the connection is counted out", func() bool { return a.stats().Established == 0 })
}

func TestEndOfTheBackendLeavesTheRequestOpen(t *testing.T) {
	a := newAppliance(t, 1)
	got := make(chan string, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		got <- string(all)
	}).at())
	a.publish(f)
	c := a.dial(f)
	if b, err := io.ReadAll(c); err != nil || len(b) != 0 {
		t.Fatalf("got %q, %v", b, err)
	}
	_, _ = io.WriteString(c, "still said")
	_ = c.Close()
	if text := <-got; text != "still said" {
		t.Fatalf("the backend got %q, want %q", text, "still said")
	}
}

func TestResetIsPassedOn(t *testing.T) {
	for _, side := range []string{"backend", "client"} {
		t.Run(side, func(t *testing.T) {
			a := newAppliance(t, 1)
			ended := make(chan error, 1)
			f := a.farm(serve(t, func(c *net.TCPConn) {
				_, _ = io.WriteString(c, "x\n")
				if side == "backend" {
					_, _ = io.ReadFull(c, make([]byte, 1))
					_ = c.SetLinger(0)
					return
				}
				_, err := io.ReadAll(c)
				ended <- err
			}).at())
			a.publish(f)
			c := a.dial(f)
			line(t, c)
			var err error
			if side == "backend" {
				_, _ = io.WriteString(c, "y")
				_, err = io.ReadAll(c)
			} else {
				_ = c.SetLinger(0)
				_ = c.Close()
				err = <-ended
			}
			if !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the other side got %v", err)
			}
		})
	}
}

func TestFailedConnectTriesTheNextBackend(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(refusedAddr(t), serve(t, name("second")).at())
	a.publish(f)
	for range 4 {
		if got := line(t, a.dial(f)); got != "second" {
			t.Fatalf("got %q, want %q", got, "second")
		}
	}
	if got := a.health.Slot(1).Passive(); got != health.Down {
		t.Errorf("the first backend is %v, want %v", got, health.Down)
	}
	if got := a.backend(1).ConnectFailures; got != 1 {
		t.Errorf("%d connects were tried after the first failed", got)
	}
	if left, taken := a.backend(1).Retries, a.backend(2).Retries; left != 1 || taken != 0 {
		t.Errorf("%d clients moved on from the first backend, %d from the second", left, taken)
	}
}

func TestWithoutABackendClientsAreReset(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(refusedAddr(t))
	a.publish(f)
	c, err := net.Dial("tcp", address(f))
	if err == nil {
		_, err = io.ReadAll(c)
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	if got := a.stats().NoBackend; got != 1 {
		t.Errorf("%d were counted", got)
	}
	eventually(t, "the log says so", func() bool { return a.Log.Has("class=no-backend") })
}

func TestConnectionsOutliveAChange(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("first")).at())
	a.publish(f)
	c := a.dial(f)
	line(t, c)
	next := f.Clone()
	next.L4.Backends = append(next.L4.Backends, farm.Backend{ID: 2, Host: "127.0.0.1", Addr: f.VIP, Port: 1})
	a.publish(next)
	_, _ = io.WriteString(c, "still here\n")
	if got := line(t, c); got != "still here" {
		t.Errorf("got %q, want %q", got, "still here")
	}
}

func TestStoppedFarmFlushesItsConnections(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("first")).at())
	a.publish(f)
	c := a.dial(f)
	line(t, c)
	stopped := f.Clone()
	stopped.Stopped = true
	a.publish(stopped)
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	if got := a.engine.Listeners(); len(got) != 0 {
		t.Errorf("it still listens on %v", got)
	}
}

// An immediate restart keeps sessions only.
func TestARestartEndsConnectionsAndKeepsSessions(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, name("first")).at(), serve(t, name("second")).at())
	f.L4.Persist, f.L4.TTL, f.L4.Algorithm = farm.L4PersistSrc, 60, farm.L4RoundRobin
	a.publish(f)
	stopped := f.Clone()
	stopped.Stopped = true
	was := line(t, a.dial(f))
	for range 20 {
		c := a.dial(f)
		if got := line(t, c); got != was {
			t.Errorf("the client went from %s to %s", was, got)
		}
		a.publish(stopped)
		a.publish(f)
		if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("the client saw %v", err)
		}
	}
}

func TestCutAndDeletedBackendsLoseTheirConnections(t *testing.T) {
	for _, how := range []string{"cut", "deleted", "drained"} {
		t.Run(how, func(t *testing.T) {
			a := newAppliance(t, 1)
			f := a.farm(serve(t, name("first")).at(), serve(t, name("second")).at())
			a.publish(f)
			open := map[string]net.Conn{}
			for len(open) < 2 {
				c := a.dial(f)
				open[line(t, c)] = c
			}
			next := f.Clone()
			switch how {
			case "cut":
				next.L4.Backends[0].Maintenance = farm.MaintenanceCut
			case "drained":
				next.L4.Backends[0].Maintenance = farm.MaintenanceDrain
			default:
				next.L4.Backends = next.L4.Backends[1:]
			}
			a.publish(next)
			for n, c := range open {
				if n == "first" && how != "drained" {
					if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("%s: the client saw %v", n, err)
					}
					continue
				}
				_, _ = io.WriteString(c, "on\n")
				if got := line(t, c); got != "on" {
					t.Errorf("%s: got %q, want %q", n, got, "on")
				}
			}
			for range 4 {
				if got := line(t, a.dial(f)); got != "second" {
					t.Errorf("a new client got %q, want %q", got, "second")
				}
			}
		})
	}
}

func TestAddressTakenByAnotherFarmEndsConnections(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("first")).at())
	a.publish(f)
	c := a.dial(f)
	line(t, c)
	other := f.Clone()
	other.ID, other.L4.ID, other.Name, other.L4.Backends[0].ID = 2, 2, "other", 2
	a.publish(other)
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client saw %v", err)
	}
	if got := a.stats().Established; got != 0 {
		t.Errorf("%d connections of the farm that is gone are counted", got)
	}
	line(t, a.dial(other))
}
