// Package probetest runs checks in tests against servers on loopback, whose answers a test
// sets.
package probetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// Longest is how long a check may take in a test, unless the test says otherwise: much
// longer than any healthy one.
const Longest = 10 * time.Second

// Asked is the result of a check.
type Asked struct {
	Err  error
	Said string // all lines
}

// Check runs a command of a check against a target.
func Check(t *testing.T, name string, make probe.Make, to probe.Target, args ...string) Asked {
	t.Helper()
	return In(t, Longest, name, make, to, args...)
}

// In is Check with a time limit.
func In(t *testing.T, within time.Duration, name string, make probe.Make, to probe.Target, args ...string) Asked {
	t.Helper()
	k := probe.Known{Checks: map[string]probe.Make{name: make}}
	p, err := k.Parse(Command(name, args...))
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return run(ctx, p, to)
}

// Unbounded is Check without a time limit.
func Unbounded(t *testing.T, name string, make probe.Make, to probe.Target, args ...string) Asked {
	t.Helper()
	k := probe.Known{Checks: map[string]probe.Make{name: make}}
	p, err := k.Parse(Command(name, args...))
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return run(t.Context(), p, to)
}

func run(ctx context.Context, p probe.Probe, to probe.Target) Asked {
	var mu sync.Mutex
	var said strings.Builder
	err := p.Run(ctx, &probe.Machine{}, to, func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&said, format+"\n", args...)
	})
	mu.Lock()
	defer mu.Unlock()
	return Asked{err, said.String()}
}

// Command joins words to a command.
func Command(name string, args ...string) string {
	for _, a := range args {
		name += " '" + strings.ReplaceAll(a, "'", `'"'"'`) + "'"
	}
	return name
}

// Healthy fails the test unless the check found the target healthy.
func (a Asked) Healthy(t *testing.T) {
	t.Helper()
	if a.Err != nil {
		t.Errorf("not healthy: %v\n%s", a.Err, a.Said)
	}
}

// Down fails the test unless the reason contains this text.
func (a Asked) Down(t *testing.T, reason string) {
	t.Helper()
	if a.Err == nil || !strings.Contains(a.Err.Error(), reason) {
		t.Errorf("the reason is %v, wanted one with %q\n%s", a.Err, reason, a.Said)
	}
}

// Refused returns the error of a command.
func Refused(t *testing.T, name string, make probe.Make, args ...string) string {
	t.Helper()
	k := probe.Known{Checks: map[string]probe.Make{name: make}}
	_, err := k.Parse(Command(name, args...))
	if err == nil {
		t.Fatalf("%s %q is accepted", name, args)
	}
	return err.Error()
}

// At returns a target on loopback.
func At(port uint16) probe.Target {
	return probe.Target{Addr: netip.MustParseAddr("127.0.0.1"), Port: port}
}

// Server handles each connection with a function, until the test ends.
func Server(t *testing.T, answer func(c net.Conn)) probe.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	open.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			open.Go(func() { defer c.Close(); answer(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		open.Wait()
	})
	return At(uint16(l.Addr().(*net.TCPAddr).Port))
}

// Hears starts a server that passes the first data it receives to heard, sends the reply
// and closes.
func Hears(t *testing.T, reply string) (to probe.Target, heard <-chan string) {
	t.Helper()
	first := make(chan string, 1)
	return Server(t, func(c net.Conn) {
		b := make([]byte, 64<<10)
		n, _ := c.Read(b)
		select {
		case first <- string(b[:n]):
		default: // not the first connection
		}
		_, _ = io.WriteString(c, reply)
	}), first
}

// Replies starts a server that sends the first text at once, unless it is "", and one more
// text after each read.
func Replies(t *testing.T, first string, then ...string) probe.Target {
	t.Helper()
	return Server(t, func(c net.Conn) {
		_, _ = io.WriteString(c, first)
		b := make([]byte, 64<<10)
		for _, reply := range then {
			if _, err := c.Read(b); err != nil {
				return
			}
			_, _ = io.WriteString(c, reply)
		}
		_, _ = io.Copy(io.Discard, c)
	})
}

// Datagrams starts a UDP server that answers each datagram with the result of answer, or
// not at all if that is nil.
func Datagrams(t *testing.T, answer func(asked []byte) []byte) probe.Target {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		b := make([]byte, 64<<10)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := answer(b[:n]); reply != nil {
				_, _ = c.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() { _ = c.Close(); done.Wait() })
	return At(uint16(c.LocalAddr().(*net.UDPAddr).Port))
}

// Closed returns a target with a closed port.
func Closed(t *testing.T) probe.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return At(uint16(l.Addr().(*net.TCPAddr).Port))
}
