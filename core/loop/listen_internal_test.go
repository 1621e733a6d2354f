package loop

import (
	"net"
	"os"
	"slices"
	"testing"
)

// listenerOf returns a listener with the given number of waiting clients.
func listenerOf(t *testing.T, l *Loop, clients int, accept Acceptor) *Listener {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	f, err := socket.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ln, err := l.Listen(f, accept)
	if err != nil {
		t.Fatal(err)
	}
	for range clients {
		c, err := net.Dial("tcp", socket.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return ln
}

// A listener accepts 64 clients per turn, and the rest after the other connections.
func TestLoopTurnAcceptsFewClients(t *testing.T) {
	s := newSingle(t)
	accepted := 0
	ln := listenerOf(t, s.l, acceptsPerTurn+6, func(c *Conn) {
		if accepted++; accepted == 3 {
			panic("on purpose")
		}
		c.SetHandler(s)
	})
	ln.accept()
	if accepted != 64 || !slices.Equal(s.l.more, []*Listener{ln}) || !s.l.called || *s.l.count.Panics != 1 {
		t.Fatalf("%d were accepted, %d listeners wait for another turn, %d panics", accepted, len(s.l.more), *s.l.count.Panics)
	}
	s.l.runAgain()
	if accepted != 70 || len(s.l.more) != 0 || *s.l.count.Accepted != 70 {
		t.Errorf("%d were accepted, %d counted, %d listeners wait for another turn", accepted, *s.l.count.Accepted, len(s.l.more))
	}
	// No further client is accepted after one that closes the listener.
	closing := listenerOf(t, s.l, 2, nil)
	closing.acceptor = func(c *Conn) { c.Close(); closing.Close() }
	before := *s.l.count.Accepted
	closing.accept()
	closing.Resume()
	if *s.l.count.Accepted != before+1 || s.l.listeners[closing.fd] != nil {
		t.Errorf("%d were accepted", *s.l.count.Accepted-before)
	}
}

// counted is a gate that counts.
type counted struct{ in, most int }

func (g *counted) Enter() bool {
	if g.in == g.most {
		return false
	}
	g.in++
	return true
}
func (g *counted) Leave() { g.in-- }

// Accepting pauses for 50 ms when it fails or the reserve is reached. Each failed
// accept calls Leave.
func TestAcceptPausesWhenDescriptorsAreShort(t *testing.T) {
	s := newSingle(t)
	l := s.l
	l.at(tickNanos)
	accepted := 0
	ln := listenerOf(t, l, 3, func(c *Conn) { accepted++; c.Close() })
	gate := &counted{most: 5}
	ln.Guard(gate)
	defer readLimit()
	descriptors.limit.Store(8) // lower than any descriptor
	rests := func(errors uint64) {
		t.Helper()
		if *l.count.AcceptErrors != errors || ln.retry.deadline != l.now+50_000_000 || !ln.short {
			t.Errorf("%d errors; it is tried again at %d", *l.count.AcceptErrors, ln.retry.deadline)
		}
	}
	ln.accept()
	if rests(1); accepted != 1 || gate.in != 1 {
		t.Errorf("%d were accepted", accepted)
	}
	l.at(2 * tickNanos)
	ln.accept()
	if rests(1); accepted != 1 {
		t.Errorf("%d were accepted while there is no room", accepted)
	}
	readLimit()
	l.at(4 * tickNanos)
	if l.expire(); accepted != 3 || ln.short || gate.in != 3 {
		t.Errorf("%d were accepted when there was room again, %d counted in", accepted, gate.in)
	}
	gate.most = 3
	if ln.accept(); gate.in != 3 {
		t.Errorf("%d counted in beyond the gate", gate.in)
	}
	gate.most = 5
	fd := ln.fd
	ln.fd = int(s.peer.Fd()) // accept fails on it
	if ln.accept(); *l.count.AcceptErrors != 2 || gate.in != 3 || ln.retry.deadline == 0 {
		t.Errorf("%d errors, %d counted in", *l.count.AcceptErrors, gate.in)
	}
	ln.fd = fd
	ln.Close()
	if ln.Close(); ln.retry.linked() {
		t.Error("a listener that was closed tries again")
	}
}

// A failed Listen leaves nothing open.
func TestFailedListenLeaksNoDescriptor(t *testing.T) {
	l := newSingle(t).l
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	before := OpenCounts()
	for _, name := range []string{"a file", "what is closed"} {
		ln, err := l.Listen(file, nil)
		if ln != nil || err == nil {
			t.Errorf("%s: %v", name, err)
		}
		u, err := l.ListenUDP(file, nil)
		if u != nil || err == nil {
			t.Errorf("%s: datagrams: %v", name, err)
		}
		if len(l.listeners)+len(l.udpListeners) != 0 || OpenCounts() != before {
			t.Errorf("%s: it is listened on", name)
		}
		_ = file.Close()
	}
}
