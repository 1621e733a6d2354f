package loop_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/enginetest"
	"github.com/sluicelb/sluice/core/loop"
)

// inFew runs the calling test again in a process with a low descriptor limit. It
// reports whether this is that process.
func inFew(t *testing.T, most uint64) bool {
	t.Helper()
	if os.Getenv("LOOP_FEW_DESCRIPTORS") == "" {
		rerun(t, "LOOP_FEW_DESCRIPTORS=1")
		return false
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
	return true
}

// datagramSocket returns a UDP socket for a listener.
func datagramSocket(t *testing.T) *os.File {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func usedDescriptors(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files) - 1
}

// Once a UDP listener exists, connections leave a quarter of the descriptors to
// connected UDP sockets.
func TestConnectionsLeaveUDPSocketsTheirShare(t *testing.T) {
	const most = 400
	if !inFew(t, most) {
		return
	}
	l := start(t)
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	socket := datagramSocket(t)
	in := make(chan *loop.UDPListener)
	l.Post(func() {
		ln, err := l.ListenUDP(socket, nil)
		if err != nil {
			t.Error(err)
		}
		in <- ln
	})
	ln := <-in
	come := func() net.Conn { // a client that sends bytes is accepted at once
		c := dial(t, addr)
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		return c
	}
	const free, more = most - most/8 - most/4, 20
	for usedDescriptors(t) < free { // both ends are in this process
		come()
		time.Sleep(time.Millisecond)
	}
	for range more {
		come()
	}
	time.Sleep(300 * time.Millisecond) // several accept pauses
	if used := usedDescriptors(t); used > free+more+5 {
		t.Errorf("%d descriptors are in use, %d of them are the share of connected UDP sockets", used, used-free-more)
	}
	waits := come()
	l.Post(ln.Close)
	if _, err := waits.Read(make([]byte, 1)); err != nil {
		t.Errorf("all datagram listeners are closed, but a client still waits: %v", err)
	}
}

// Once a listener exists, connected UDP sockets leave half of the descriptors to
// connections.
func TestUDPSocketsLeaveConnectionsTheirShare(t *testing.T) {
	const most = 400
	if !inFew(t, most) {
		return
	}
	l := start(t)
	if got := loop.MostUDPConns(); got != most*3/4 {
		t.Errorf("%d connected UDP sockets without a datagram listener, want %d", got, most*3/4)
	}
	addr := serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) })
	others := int64(usedDescriptors(t))
	between := func(least, greatest int64) {
		t.Helper()
		if got := loop.MostUDPConns(); got < least || got > greatest {
			t.Errorf("%d connected UDP sockets, want %d to %d", got, least, greatest)
		}
	}
	between(most/2-others-3, most/2-others+3)
	made := make(chan error)
	var out []*loop.UDPConn
	for range 100 {
		l.Post(func() {
			o, err := l.DialUDP(netip.MustParseAddrPort("127.0.0.1:9"), nil, loop.DialOptions{})
			out = append(out, o)
			made <- err
		})
		if err := <-made; err != nil {
			t.Fatal(err)
		}
	}
	between(most/2-others-3, most/2-others+3) // their own limit is not reached
	for range 80 {
		c := dial(t, addr)
		if _, err := fmt.Fprint(c, "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatalf("a client is not served next to 100 connected UDP sockets: %v", err)
		}
	}
	l.Post(func() {
		for _, o := range out {
			o.Close()
		}
		made <- nil
	})
	<-made
	between(most/2-others-3, most/2-others+3)
}

// Connections may use free descriptors beyond their share; connected UDP sockets do not
// get those.
func TestUDPSocketsUseDescriptorsLeftByConnections(t *testing.T) {
	const most = 400
	if !inFew(t, most) {
		return
	}
	l := start(t)
	addr := netip.MustParseAddrPort(serve(t, l, func(c *loop.Conn) { c.SetHandler(echo(l)) }))
	before := loop.MostUDPConns()
	outcome := make(chan error)
	for range most/4 + 10 { // both ends are connections of the loop
		l.Post(func() {
			c, err := l.Dial(addr, &probe{connected: func(_ *loop.Conn, err error) { outcome <- err }}, int64(time.Second), loop.DialOptions{})
			if err == nil {
				err = c.Write([]byte("x"))
			}
			if err != nil {
				t.Error(err)
			}
		})
		if err := <-outcome; err != nil {
			t.Fatal(err)
		}
	}
	enginetest.Eventually(t, "connected UDP sockets get less", func() bool { return loop.MostUDPConns() <= before-15 })
}
