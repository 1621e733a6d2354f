package loop

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Splice returns the errors of Read and Write, and releases its pipe as soon as possible.
func TestSpliceReturnsReadAndWriteErrors(t *testing.T) {
	src := newSingle(t)
	l := src.l
	dst := src.beginner(t)
	dst.c.unsecure()
	c := dst.c
	splice := func(name string, n int, read, write error, open, free int) {
		t.Helper()
		gotN, gotRead, gotWrite := c.Splice(src.c, 5)
		if gotN != n || gotRead != read || gotWrite != write {
			t.Errorf("%s: %d bytes, %v, %v; want %d, %v, %v", name, gotN, gotRead, gotWrite, n, read, write)
		}
		if o, f := l.Pipes(); o != open || f != free {
			t.Errorf("%s: %d pipes are open, %d free; want %d and %d", name, o, f, open, free)
		}
	}
	src.c.flags &^= flagReadable
	splice("no event", 0, ErrDry, nil, 0, 0)
	src.c.flags |= flagReadable
	splice("nothing there", 0, ErrDry, nil, 1, 1)
	if src.c.Readable() {
		t.Error("it is readable")
	}
	_, _ = src.peer.WriteString("some bytes")
	src.c.flags |= flagReadable | flagUrgent
	splice("urgent bytes", 0, ErrNoPipe, nil, 1, 1)
	src.c.flags &^= flagUrgent
	splice("some", 5, nil, nil, 1, 1)
	if got := dst.take(t, 5); string(got) != "some " || c.Pending() != 0 {
		t.Errorf("%q came", got)
	}
	l.pipes.free[0].close()
	l.pipes = pipes{refused: true}
	splice("no pipes at all", 0, ErrNoPipe, nil, 0, 0)
	l.pipes = pipes{open: pipesMost}
	splice("all pipes in use", 0, ErrNoPipe, nil, 24, 0)
	l.pipes = pipes{}
	for {
		if _, errno := sysSend(int(c.fd), make([]byte, 1<<20), 0); errno == syscall.EAGAIN {
			break
		}
	}
	splice("no room", 5, nil, nil, 1, 0)
	if c.Pending() != 5 || c.flags&flagRoom == 0 {
		t.Errorf("%d bytes wait; for room: %t", c.Pending(), c.flags&flagRoom != 0)
	}
	c.releasePipe()
	if open, _ := l.Pipes(); open != 0 {
		t.Errorf("%d pipes are open", open)
	}
	_, _ = src.peer.WriteString("more")
	_ = dst.peer.Close()
	splice("who takes no more", 4, nil, syscall.EPIPE, 0, 0)
	if c.end() != syscall.EPIPE || c.Pending() != 0 {
		t.Errorf("it ends with %v", c.end())
	}
	_ = src.peer.Close()
	splice("the end", 0, io.EOF, nil, 1, 1)
	fd := src.c.fd
	src.c.fd = int32(l.timerFD)
	_, read, _ := c.Splice(src.c, 5)
	src.c.fd = fd
	if open, free := l.Pipes(); read != syscall.EINVAL || open != 1 || free != 1 {
		t.Errorf("an input that cannot be spliced: %v; %d pipes are open, %d free", read, open, free)
	}
	var many []*pipe
	for range pipesKept + 2 {
		many = append(many, l.pipes.get())
	}
	for _, p := range many {
		l.pipes.put(p)
	}
	if open, free := l.Pipes(); open != 8 || free != 8 {
		t.Errorf("%d pipes are open, %d free", open, free)
	}
	size, err := unix.FcntlInt(uintptr(many[0].r), unix.F_GETPIPE_SZ, 0)
	if err != nil || size != PipeSize {
		t.Errorf("a pipe has room for %d bytes, %v, want %d", size, err, PipeSize)
	}
}

// splice(2) reports no bytes at an urgent byte, as at the end. The bytes after it must
// still be read.
func TestUrgentByteIsDistinguishedFromTheEnd(t *testing.T) {
	s := newSingle(t)
	l := s.l
	var config net.ListenConfig
	config.SetMultipathTCP(false) // MPTCP has no urgent bytes
	ln, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	file, err := c.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	own, err := server.(*net.TCPConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	fd, err := dup(own)
	if err == nil {
		err = errors.Join(urgent(fd), unix.SetNonblock(fd, true))
	}
	if err != nil {
		t.Fatal(err)
	}
	src, peer := l.open(fd, netip.AddrPort{}, s, flagWet), int(file.Fd())
	if err := unix.Sendto(peer, []byte("urgent!"), unix.MSG_OOB, nil); err != nil {
		t.Fatal(err)
	}
	if err := unix.Shutdown(peer, unix.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	if n, _ := unix.Poll([]unix.PollFd{{Fd: src.fd, Events: unix.POLLRDHUP}}, 10_000); n != 1 {
		t.Fatal("the end does not come")
	}
	src.flags |= flagReadable
	moved := 0
	for {
		n, read, write := s.c.Splice(src, 1<<10)
		if moved += n; read == nil && write == nil && n > 0 {
			continue
		}
		if n != 0 || read != ErrNoPipe || write != nil {
			t.Errorf("at the urgent byte: %d bytes, %v, %v", n, read, write)
		}
		break
	}
	n, err := src.Read(l.In)
	if moved+n != 7 || string(l.In[:n]) != "urgent!"[moved:] || err != nil {
		t.Errorf("behind %d bytes it reads %q, %v", moved, l.In[:n], err)
	}
	if open, free := l.Pipes(); open != 1 || free != 1 {
		t.Errorf("%d pipes are open, %d free", open, free)
	}
}
