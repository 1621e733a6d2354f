//go:build !race

package loop_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// TestIdleSecureConnectionHoldsNoBuffer measures the memory of a connection that is
// idle after a full record went both ways. The clients run in another process.
func TestIdleSecureConnectionHoldsNoBuffer(t *testing.T) {
	if addr := os.Getenv("LOOP_IDLE_CLIENTS"); addr != "" {
		idleClients(t, addr)
		return
	}
	const clients, most = 500, 6 << 10
	for name, version := range map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			addr := secure(t, l, serverConfig(func(c *tls.Config) { c.MaxVersion = version }, "P-256"), func(*loop.Conn) *probe { return echo(l) })
			dialTLS(t, addr, clientConfig(nil)) // the first connection allocates shared state
			before, resident := live(), rss(t)
			cmd := exec.Command(os.Args[0], "-test.run=^TestIdleSecureConnectionHoldsNoBuffer$")
			cmd.Env = append(os.Environ(), "LOOP_IDLE_CLIENTS="+addr, fmt.Sprint("LOOP_IDLE_COUNT=", clients))
			stay, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stay.Close(); _ = cmd.Wait() })
			if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "ready") {
				t.Fatalf("output of the clients: %q, %v", line, err)
			}
			after := rss(t) - resident
			each := (live() - before) / clients
			t.Logf("%d bytes live, %d resident, for each connection", each, after/clients)
			if each > most {
				t.Errorf("%d bytes for each waiting connection, want at most %d", each, most)
			}
		})
	}
}

// idleClients holds secure connections open until its input ends.
func idleClients(t *testing.T, addr string) {
	count, _ := strconv.Atoi(os.Getenv("LOOP_IDLE_COUNT"))
	p := make([]byte, 16384)
	for range count {
		raw, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = raw.SetDeadline(time.Now().Add(time.Minute))
		c := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
		if _, err := c.Write(p); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// live returns the heap in use after a garbage collection.
func live() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // empties sync.Pools
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

func rss(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("not shown: %v", err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(b))[1])
	return pages * os.Getpagesize()
}
