package loop

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/descriptortest"
)

// lowest returns the lowest free descriptor.
func lowest(t *testing.T, file *os.File) int {
	t.Helper()
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
	return fd
}

// within calls fn while only descriptors below limit may be opened.
func within(t *testing.T, limit int, fn func()) {
	t.Helper()
	defer readLimit()
	descriptortest.Within(t, limit, fn)
}

// A loop that cannot be created for lack of descriptors leaves none open.
func TestFailedLoopLeaksNoDescriptor(t *testing.T) {
	file := newSingle(t).peer
	first := lowest(t, file)
	made := false
	for more := 0; !made && more < 100; more++ {
		within(t, first+1+more, func() {
			l, err := New(nil)
			if made = err == nil; made {
				l.closeAll()
			} else if !errors.Is(err, syscall.EMFILE) || l != nil {
				t.Errorf("with %d descriptors: %v", more+1, err)
			}
		})
		if now := lowest(t, file); now != first {
			t.Fatalf("with %d descriptors: the lowest that is free was %d and is %d", more+1, first, now)
		}
	}
	if !made {
		t.Error("no loop is made in the end")
	}
}

// Without descriptors nothing new starts, existing connections continue, and clients
// wait.
func TestWithoutDescriptorsClientsWait(t *testing.T) {
	s := newSingle(t)
	l := s.l
	l.at(tickNanos)
	accepted := 0
	ln := listenerOf(t, l, 1, func(c *Conn) { accepted++; c.Close() })
	gate := &counted{most: 3}
	ln.Guard(gate)
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	file, err := socket.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	to := netip.MustParseAddrPort("127.0.0.1:9")
	counts := OpenCounts()
	first := lowest(t, s.peer)
	within(t, first, func() {
		for name, begin := range map[string]func() error{
			"a dial":             func() error { _, err := l.Dial(to, s, 1, DialOptions{}); return err },
			"a dial with a mark": func() error { _, err := l.Dial(to, s, 1, DialOptions{Mark: 7}); return err },
			"UDP":                func() error { _, err := l.DialUDP(to, nil, DialOptions{}); return err },
			"UDP with a mark":    func() error { _, err := l.DialUDP(to, nil, DialOptions{Mark: 7}); return err },
			"the question":       CanMark,
			"a listener":         func() error { _, err := l.Listen(file, nil); return err },
			"a UDP listener":     func() error { _, err := l.ListenUDP(file, nil); return err },
			"a copy":             func() error { _, err := ln.File(); return err },
		} {
			if err := begin(); !errors.Is(err, syscall.EMFILE) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if l.pipes.get() != nil || l.pipes.refused || l.pipes.open != 0 {
			t.Error("there is a pipe, or never will be")
		}
		ln.accept()
		if ln.short = true; ln.room() {
			t.Error("there is room")
		}
		ln.accept()
	})
	if accepted != 0 || gate.in != 0 || *l.count.AcceptErrors != 1 || !ln.retry.linked() {
		t.Errorf("%d were accepted, %d are counted in, %d errors", accepted, gate.in, *l.count.AcceptErrors)
	}
	if now := OpenCounts(); now != counts || lowest(t, s.peer) != first {
		t.Errorf("open: %v, were %v", now, counts)
	}
	l.at(3 * tickNanos)
	if l.expire(); accepted != 1 || gate.in != 1 {
		t.Errorf("%d were accepted when there was room again", accepted)
	}
	p := l.pipes.get()
	if p == nil {
		t.Fatal("no pipe can be had when there are descriptors again")
	}
	l.pipes.put(p)
}
