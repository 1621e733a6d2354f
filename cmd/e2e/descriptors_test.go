package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const fewDescriptors = 256

// hold opens connections that send half a request head and then nothing.
func hold(t *testing.T, addr string, n int) (release func()) {
	t.Helper()
	var held []net.Conn
	release = func() {
		for _, c := range held {
			_ = c.Close()
		}
		held = nil
	}
	t.Cleanup(release)
	for range n {
		c, err := net.DialTimeout("tcp4", addr, 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
	}
	return release
}

func TestConnectionsAreServedWithoutFreeDescriptors(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := startIn(t, who, dataDir(t, who), surroundings{shell: fmt.Sprintf("ulimit -n %d", fewDescriptors)})
		late := rawBackend(t, func(c net.Conn, r *bufio.Reader) {
			if _, err := http.ReadRequest(r); err == nil {
				time.Sleep(500 * time.Millisecond)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
			}
		})
		shop := hostOf(a.farm("shop", mirror(t, "shop")))
		rare := hostOf(a.farm("rare", late))
		a.must("farm", "set", "shop", "reqtimeout=300")
		a.must("farm", "set", "rare", "reqtimeout=300")
		pid := a.pid("engine")
		if limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)); err != nil ||
			!strings.Contains(string(limits), fmt.Sprintf("Max open files            %d ", fewDescriptors)) {
			t.Fatalf("limits of the engine: %s, %v", limits, err)
		}

		tr := under(t, shop, 8, 0, 20*time.Millisecond)
		var early []net.Conn // connected before, with a first request later
		for range 24 {
			c, err := net.Dial("tcp4", rare)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, "GET /early HTTP/1.1\r\nHost: rare\r\n")
			early = append(early, c)
		}
		time.Sleep(200 * time.Millisecond) // until they are accepted
		release := hold(t, shop, 2*fewDescriptors)
		within(t, 5*time.Second, "few descriptors are left", func() error {
			if n := footprintOf(t, pid).descriptors; n < fewDescriptors*3/4 {
				return fmt.Errorf("%d are in use", n)
			}
			return nil
		})
		used := cpuOf(t, pid)
		time.Sleep(choose(20*time.Second, 2*time.Second)) // longer than the reserve lasts at one connection per pause
		if used = cpuOf(t, pid) - used; used > choose(5*time.Second, time.Second) {
			t.Errorf("the engine used %v of CPU time without descriptors for clients", used)
		}
		held := footprintOf(t, pid).descriptors
		for _, c := range early { // at the same time: each needs its own backend connection
			_, _ = io.WriteString(c, "Connection: close\r\n\r\n")
		}
		for i, c := range early {
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			b, _ := io.ReadAll(c)
			if !strings.HasPrefix(string(b), "HTTP/1.1 200 ") {
				t.Errorf("connection %d from before, with %d descriptors in use: %.100q", i, held, b)
			}
		}
		waiting, err := dialWire(shop)
		if err != nil {
			t.Fatal(err)
		}
		defer waiting.close()
		answered := make(chan error, 1)
		go func() { _, err := waiting.exchange("/waiting", 2, true); answered <- err }()
		tr.flawless(t)
		t.Logf("%d descriptors in use, %v of CPU time", held, used)

		release()
		began := time.Now()
		if err := <-answered; err != nil {
			t.Errorf("a client that waited for a descriptor: %v", err)
		}
		within(t, 2*time.Second, "a new client is served", func() error { _, err := get("http://" + shop + "/"); return err })
		t.Logf("the one that waited was served %v after the release", time.Since(began).Round(time.Millisecond))
		if now := a.pid("engine"); now != pid || syscall.Kill(pid, 0) != nil {
			t.Error("the engine did not live through it")
		}
		within(t, 5*time.Second, "the descriptors are free again", func() error {
			if n := footprintOf(t, pid).descriptors; n > fewDescriptors/4 {
				return fmt.Errorf("%d are in use", n)
			}
			return nil
		})
	})
}
