package forward_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/health"
)

// asking returns a ClientHello with just a server name.
func asking(name string) []byte {
	n := len(name)
	asks := append([]byte{0, 0, 0, byte(n + 5), 0, byte(n + 3), 0, 0, byte(n)}, name...)
	body := append([]byte{3, 3}, make([]byte, 32)...)
	body = append(append(body, 0, 0, 2, 0x13, 1, 1, 0, 0, byte(len(asks))), asks...)
	return append([]byte{22, 3, 1, 0, byte(len(body) + 4), 1, 0, 0, byte(len(body))}, body...)
}

// A client that must send first has no backend before.
func TestSilentClientsHaveNoBackend(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, name("shop")).at())
	f.L4.Backends[0].ServerNames = []string{"shop.example.com"}
	f.L4.StopGrace = 60
	a.publish(f)
	first, second := a.dial(f), a.dial(f)
	eventually(t, "they are there", func() bool { return a.stats().Pending == 2 })
	if total, list := a.engine.Connections(nil, 10); total != 0 || len(list) != 0 || a.engine.FlushConnections(nil) != 0 {
		t.Errorf("listed %d, %+v", total, list)
	}
	_, _ = first.Write(asking("shop.example.com"))
	if got := line(t, first); got != "shop" {
		t.Errorf("got %q, want %q", got, "shop")
	}
	if total, list := a.engine.Connections(nil, 10); total != 1 || len(list) != 1 || list[0].Client.String() != first.LocalAddr().String() {
		t.Errorf("listed %d, %+v", total, list)
	}
	stopped := f.Clone()
	stopped.Stopped = true
	a.publish(stopped)
	_, _ = io.WriteString(first, "still\n") // its timeout has not passed
	if got := line(t, first); !strings.HasSuffix(got, "still") {
		t.Errorf("got %q", got)
	}
	_, _ = second.Write(asking("shop.example.com"))
	if _, err := io.ReadAll(second); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a client whose first bytes were late got %v", err)
	}
}

func TestFarmsOfOtherEnginesAreLeftToThem(t *testing.T) {
	a := newAppliance(t, 1)
	good := a.farm(serve(t, name("good")).at())
	kernel := good.Clone()
	kernel.ID, kernel.L4.ID, kernel.Name, kernel.L4.Ports = 2, 2, "all ports", nil
	a.publish(farm.Farm{ID: 3, Name: "http", Profile: farm.ProfileHTTP}, kernel, good)
	if got := line(t, a.dial(good)); got != "good" || len(a.engine.Listeners()) != 1 {
		t.Errorf("got %q, and it listens on %v", got, a.engine.Listeners())
	}
}

// The next farm on an address gets the sockets with waiting clients.
func TestSocketsOfAPortArePassedOn(t *testing.T) {
	a := newAppliance(t, 2)
	f := a.farm(serve(t, echo).at())
	a.publish(f)
	keys := a.engine.Listeners()
	if len(keys) != 1 {
		t.Fatalf("it listens on %v", keys)
	}
	files := a.engine.Sockets(keys[0])
	if len(files) != 2 {
		t.Fatalf("%d sockets", len(files))
	}
	for _, file := range files {
		ln, err := net.FileListener(file)
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := ln.Addr().String(); got != address(f) {
			t.Errorf("a socket at %s", got)
		}
		_ = ln.Close()
	}
	if got := a.engine.Sockets("tcp/192.0.2.1:1"); got != nil {
		t.Errorf("an address without listeners: got %v, want nil", got)
	}
}

// A finding about one port of a backend applies to clients with server names, too.
func TestRefusedPortIsDownForEveryServerName(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.twoPorts(false)
	f.L4.Backends[0].ServerNames = []string{"shop.example.com", "*.example.org"}
	f.L4.Backends[1].ServerNames = []string{"shop.example.com", "*.example.org"}
	f.L4.ResurrectTime = 3600
	serves := func(host string, port uint16) {
		ln, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					_, _ = fmt.Fprintln(c, host)
					_, _ = io.Copy(io.Discard, c)
				}()
			}
		}()
	}
	first, second := f.L4.Ports[0].First, f.L4.Ports[1].First
	serves("127.0.0.77", first)
	serves("127.0.0.78", first)
	serves("127.0.0.78", second)
	a.publish(f)
	who := func(port uint16, asked string) string {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = c.Write(asking(asked))
		return line(t, c)
	}
	for range 2 {
		for _, asked := range []string{"shop.example.com", "x.example.org"} {
			for range 3 {
				if got := who(second, asked); got != "127.0.0.78" {
					t.Errorf("%s on the port the first refuses came to %s, want %s", asked, got, "127.0.0.78")
				}
			}
			if one, other := who(first, asked), who(first, asked); one == other {
				t.Errorf("%s on the port both serve came to %s only", asked, one)
			}
		}
	}
	if n := a.backend(1).ConnectFailures; n != 1 {
		t.Errorf("the first backend was tried %d times on the port it refused", n)
	}
	if got := a.health.Slot(1).Passive(); got == health.Down {
		t.Errorf("the first backend is %v", got)
	}
}

// Flows without responses share a socket. A descriptor for that may be unavailable, too.
func TestDatagramsAreDroppedWithoutDescriptors(t *testing.T) {
	a := newAppliance(t, 1)
	back := answering(t, nil)
	f := a.farmUDP(back.at())
	zero := uint16(0)
	f.L4.Responses = &zero
	a.publish(f)
	c := a.dialUDP(f)
	give := noDescriptors(t)
	_, _ = io.WriteString(c, "lost")
	eventually(t, "it is dropped", func() bool { return a.stats().Dropped == 1 })
	if s := a.stats(); s.Established != 0 || a.health.Slot(1).Passive() == health.Down || a.backend(1).ConnectFailures != 1 || a.backend(1).Connects != 0 {
		t.Errorf("counted %+v and %+v", s, a.backend(1))
	}
	give()
	_, _ = io.WriteString(c, "comes")
	if got := <-back.got; got != "comes" {
		t.Errorf("the backend got %q, want %q", got, "comes")
	}
}
