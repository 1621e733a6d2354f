package loop_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/loop"
)

// splicer splices from src to dst, two connections of one loop.
type splicer struct {
	src, dst *loop.Conn
	pending  chan int // Pending when dst was full for the first time
	err      error
}

func (s *splicer) move() {
	for s.dst != nil && s.dst.Pending() == 0 {
		_, read, write := s.dst.Splice(s.src, 1<<20)
		switch {
		case read == loop.ErrDry:
			return
		case read != nil || write != nil:
			s.err = read
			if write != nil {
				s.err = write
			}
			s.dst.CloseWrite()
			return
		}
		if n := s.dst.Pending(); n > 0 {
			select {
			case s.pending <- n:
			default:
			}
		}
	}
}

func (s *splicer) Readable(c *loop.Conn) {
	if c == s.src {
		s.move()
	}
}
func (s *splicer) Drained(*loop.Conn)          { s.move() }
func (s *splicer) Connected(*loop.Conn, error) {}
func (s *splicer) Expired(*loop.Conn)          {}
func (s *splicer) Failed(*loop.Conn, error)    {}

// twoConnections returns two accepted connections of one loop and their peers.
func twoConnections(t *testing.T) (l *loop.Loop, s *splicer, from, to *net.TCPConn) {
	t.Helper()
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Run() }()
	t.Cleanup(l.Stop)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s = &splicer{pending: make(chan int, 1)}
	accepted := make(chan struct{}, 2)
	l.Post(func() {
		if _, err := l.Listen(file, func(c *loop.Conn) {
			c.SetHandler(s)
			if s.src == nil {
				s.src = c
			} else {
				s.dst = c
			}
			accepted <- struct{}{}
		}); err != nil {
			t.Error(err)
		}
	})
	ends := [2]*net.TCPConn{}
	for i := range ends {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		<-accepted
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		ends[i] = c.(*net.TCPConn)
	}
	l.Post(s.move)
	return l, s, ends[0], ends[1]
}

func TestSplicedBytesArriveInOrder(t *testing.T) {
	_, _, from, to := twoConnections(t)
	sent, all := sha256.New(), make(chan struct{})
	go func() {
		defer close(all)
		source := rand.NewChaCha8([32]byte{1})
		_, _ = io.Copy(io.MultiWriter(from, sent), io.LimitReader(source, 20<<20))
		_ = from.CloseWrite()
	}()
	got := sha256.New()
	n, err := io.Copy(got, to)
	if err != nil || n != 20<<20 {
		t.Fatalf("%d bytes came, %v", n, err)
	}
	<-all
	if !bytes.Equal(got.Sum(nil), sent.Sum(nil)) {
		t.Error("other bytes arrived")
	}
}

// fill writes until spliced bytes wait for the peer, which reads nothing. It returns
// the number of bytes accepted and how many of them wait in a pipe.
func fill(t *testing.T, s *splicer, from *net.TCPConn) (taken, held int) {
	t.Helper()
	data := make([]byte, 64<<20)
	for taken < len(data) {
		_ = from.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		n, _ := from.Write(data[taken:])
		taken += n
		select {
		case held = <-s.pending:
			return taken, held
		default:
		}
	}
	t.Fatalf("%d bytes were read for a peer that does not read", taken)
	return 0, 0
}

func TestSplicedBytesWaitForAReaderThatStalls(t *testing.T) {
	_, s, from, to := twoConnections(t)
	n, held := fill(t, s, from)
	if held > loop.PipeSize {
		t.Errorf("%d bytes wait in a pipe", held)
	}
	_ = from.SetWriteDeadline(time.Time{})
	_ = from.CloseWrite()
	if got, err := io.Copy(io.Discard, to); err != nil || got != int64(n) {
		t.Errorf("%d of %d bytes came, %v", got, n, err)
	}
}

func TestPipesOfClosedConnectionsAreReleased(t *testing.T) {
	l, s, from, _ := twoConnections(t)
	fill(t, s, from)
	result := make(chan [2]int)
	l.Post(func() {
		s.dst.Abort()
		s.dst = nil
		open, free := l.Pipes()
		result <- [2]int{open, free}
	})
	if got := <-result; got[0] != got[1] {
		t.Errorf("%d pipes are open, %d of them free", got[0], got[1])
	}
}
