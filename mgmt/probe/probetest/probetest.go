// Package probetest runs checks in tests: against servers of loopback, which answer
// what a test tells them to.
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

// Asked is what came of a check.
type Asked struct {
	Err  error
	Said string // all lines
}

// Check runs a command of a check against a target.
func Check(t *testing.T, name string, make probe.Make, to probe.Target, args ...string) Asked {
	t.Helper()
	return In(t, Longest, name, make, to, args...)
}

// In is Check in a time.
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

// Unbounded is Check without a time.
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

// Command writes words as a command.
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

// Down fails the test unless the reason has this text in it.
func (a Asked) Down(t *testing.T, reason string) {
	t.Helper()
	if a.Err == nil || !strings.Contains(a.Err.Error(), reason) {
		t.Errorf("the reason is %v, wanted one with %q\n%s", a.Err, reason, a.Said)
	}
}

// Refused says what is wrong with a command.
func Refused(t *testing.T, name string, make probe.Make, args ...string) string {
	t.Helper()
	k := probe.Known{Checks: map[string]probe.Make{name: make}}
	_, err := k.Parse(Command(name, args...))
	if err == nil {
		t.Fatalf("%s %q is accepted", name, args)
	}
	return err.Error()
}

// At is a target of loopback.
func At(port uint16) probe.Target {
	return probe.Target{Addr: netip.MustParseAddr("127.0.0.1"), Port: port}
}

// Server answers each connection by a function, until the test ends.
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

// Hears is a server that tells what it is sent first, says the reply and closes.
func Hears(t *testing.T, reply string) (to probe.Target, heard <-chan string) {
	t.Helper()
	first := make(chan string, 1)
	return Server(t, func(c net.Conn) {
		b := make([]byte, 64<<10)
		n, _ := c.Read(b)
		select {
		case first <- string(b[:n]):
		default: // somebody came again
		}
		_, _ = io.WriteString(c, reply)
	}), first
}

// Replies is a server that says the first text at once, unless it is "", and each other
// one after a read.
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

// Datagrams is a server of UDP: answer is given each datagram, nil answers nothing.
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

// Closed is a target where nobody listens.
func Closed(t *testing.T) probe.Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return At(uint16(l.Addr().(*net.TCPAddr).Port))
}
