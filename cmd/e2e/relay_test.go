package e2e_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// teller starts a TCP server that sends its name and the announced client address, and then
// echoes.
func teller(t *testing.T, name string) string {
	t.Helper()
	return rawBackend(t, func(c net.Conn, in *bufio.Reader) {
		head, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprintf(c, "%s %s", name, head)
		_, _ = io.Copy(c, in)
	})
}

// readGreeting connects to a relay and returns the server's line.
func readGreeting(to string) (string, error) {
	c, err := net.DialTimeout("tcp", to, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	return bufio.NewReader(c).ReadString('\n')
}

// A TCP farm in userspace, by YAML and the command line. Backends get the client address,
// sessions keep clients on their backend, and a killed engine returns within a second with
// its sessions.
func TestTCPFarmsKeepSessionsAcrossAnEngineCrash(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		port := freePort(t)
		one, two := netip.MustParseAddrPort(teller(t, "one")), netip.MustParseAddrPort(teller(t, "two"))
		a.must("apply", "--yes", "-f", readable(t, fmt.Sprintf(`farms:
  - {name: relay, profile: l4xnat, vip: 127.0.0.1, vport: '%d', algorithm: roundrobin, persistence: srcip, ttl: 600, proxyprotocol_out: v1, backends: [{ip: 127.0.0.1, port: %d}, {ip: 127.0.0.1, port: %d}]}
`, port, one.Port(), two.Port())))
		to := fmt.Sprintf("127.0.0.1:%d", port)
		first, err := readGreeting(to)
		if err != nil || !strings.Contains(first, "PROXY TCP4 127.0.0.1 127.0.0.1 ") {
			t.Fatalf("got %q, %v", first, err)
		}
		name, _, _ := strings.Cut(first, " ")
		for range 2 {
			old := a.kill("engine")
			within(t, time.Second, "the engine relays again", func() error {
				got, err := readGreeting(to)
				if err == nil && !strings.HasPrefix(got, name+" ") {
					return fmt.Errorf("the client of %s came to %q", name, got)
				}
				return err
			})
			if a.pid("engine") == old {
				t.Error("the engine was not killed")
			}
		}
		if out := a.must("explain", "relay"); !strings.Contains(out, "the session names the backend") {
			t.Errorf("explained as %s", out)
		}
	})
}

// The address of an http farm moves to a TCP farm in one change, and back. Sockets are
// passed on, and no client is refused meanwhile.
func TestAddressesMoveBetweenKindsOfFarms(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		port := freePort(t)
		at := netip.MustParseAddrPort(backend(t, "one"))
		http := fmt.Sprintf("farms:\n  - {name: web, profile: http, vip: 127.0.0.1, vport: %d, services: [{name: s, backends: [{ip: 127.0.0.1, port: %d}]}]}\n", port, at.Port())
		relay := fmt.Sprintf("farms:\n  - {name: raw, profile: l4xnat, vip: 127.0.0.1, vport: '%d', backends: [{ip: 127.0.0.1, port: %d}]}\n", port, at.Port())
		url := fmt.Sprintf("http://127.0.0.1:%d/", port)
		a.must("apply", "--yes", "-f", readable(t, http))
		wantAnswer(t, url, "one")
		var refused atomic.Int64
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
				switch {
				case err == nil:
					_ = c.Close()
				case errors.Is(err, syscall.ECONNRESET): // its farm was deleted
				default:
					t.Log(err)
					refused.Add(1)
				}
			}
		}()
		for range 3 {
			a.must("apply", "--yes", "-f", readable(t, relay))
			wantAnswer(t, url, "one")
			a.must("apply", "--yes", "-f", readable(t, http))
			wantAnswer(t, url, "one")
		}
		close(stop)
		<-done
		if n := refused.Load(); n > 0 {
			t.Errorf("%d connects were refused", n)
		}
	})
}
