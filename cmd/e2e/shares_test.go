package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// asksUDP sends a datagram and repeats it without a reply, like UDP clients.
func asksUDP(c net.Conn, text string) error {
	b := make([]byte, 64)
	var err error
	for range 10 {
		if _, err = c.Write([]byte(text)); err != nil {
			continue // an ICMP error concerns the previous datagram
		}
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		var n int
		if n, err = c.Read(b); err == nil && string(b[:n]) == text {
			return nil
		}
	}
	return fmt.Errorf("no answer to %q: %v", text, err)
}

// echoesUDP answers every datagram with itself.
func echoesUDP(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		b := make([]byte, 2048)
		for {
			n, from, err := c.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(b[:n], from)
		}
	}()
	return c.LocalAddr().String()
}

// With few descriptors, UDP flows and HTTP and TCP clients cannot starve each other.
func TestFlowsAndConnectionsLeaveEachOtherDescriptors(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := startIn(t, who, dataDir(t, who), surroundings{shell: fmt.Sprintf("ulimit -n %d", fewDescriptors)})
		shop := a.farm("shop", mirror(t, "shop"))
		a.must("farm", "set", "shop", "reqtimeout=300")
		ports := freePorts(t, 2)
		for i, protocol := range []string{"udp", "tcp"} {
			name := "l4" + protocol
			a.must("farm", "create", name, "--profile", "l4xnat", "vip=127.0.0.1", fmt.Sprintf("vport=%d", ports[i]), "protocol="+protocol, "datapath=userspace")
		}
		a.must("backend", "add", "l4udp", echoesUDP(t))
		echo := rawBackend(t, func(c net.Conn, r *bufio.Reader) { _, _ = io.Copy(c, r) })
		a.must("backend", "add", "l4tcp", echo)
		flows := fmt.Sprintf("127.0.0.1:%d", ports[0])

		flood := func() (clients []net.Conn) {
			for range 2 * fewDescriptors {
				c, err := net.Dial("udp4", flows)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				_, _ = c.Write([]byte("x"))
				clients = append(clients, c)
			}
			return clients
		}
		flood()
		visit := func(i int) error {
			if _, err := get(shop); err != nil {
				return fmt.Errorf("HTTP client %d: %w", i, err)
			}
			return asksTCP(fmt.Sprintf("127.0.0.1:%d", ports[1]), fmt.Sprint("client ", i))
		}
		answers := make(chan error)
		for i := range 20 { // forty clients at once
			go func() { answers <- visit(i) }()
		}
		for range 20 {
			if err := <-answers; err != nil {
				t.Errorf("next to flows that use all capacity: %v", err)
			}
		}
		defer hold(t, hostOf(shop), 2*fewDescriptors)()
		within(t, 5*time.Second, "connections take what they can", func() error {
			if n := footprintOf(t, a.pid("engine")).descriptors; n < fewDescriptors*3/4 {
				return fmt.Errorf("%d descriptors are in use", n)
			}
			return nil
		})
		for i := range 20 {
			c, err := net.Dial("udp4", flows)
			if err != nil {
				t.Fatal(err)
			}
			if err := asksUDP(c, fmt.Sprint("datagram ", i)); err != nil {
				t.Errorf("next to connections that use all capacity: %v", err)
			}
			_ = c.Close()
		}
		if t.Failed() {
			t.Log(a.run("stats"))
			t.Log(a.run("stats", "l4udp", "--json"))
			t.Log(footprintOf(t, a.pid("engine")).descriptors)
		}
	})
}

// asksTCP sends a text on a new connection and expects an echo.
func asksTCP(addr, text string) error {
	c, err := net.DialTimeout("tcp4", addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Write([]byte(text)); err != nil {
		return err
	}
	b := make([]byte, len(text))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != text {
		return fmt.Errorf("got %q for %q: %v", b, text, err)
	}
	return nil
}
