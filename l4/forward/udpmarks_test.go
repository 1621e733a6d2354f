package forward_test

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/core/shm"
)

// makeDatagramSockets answers requests for marked UDP sockets as netd does, but
// sets no mark, which would need root. It counts what it made.
func makeDatagramSockets(t *testing.T) (reserve *marks.Reserve, made *atomic.Int64) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		ends[i] = c.(*net.UnixConn)
	}
	made = new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, marks.MessageSize)
		for {
			n, _, err := shm.ReceiveDescriptors(ends[1], buf)
			if err != nil {
				return
			}
			r, err := marks.ParseRequest(buf[:n])
			if err != nil || !r.Kind.UDP {
				t.Errorf("asked for %+v, %v", r, err)
				continue
			}
			var fds []int
			for range r.Count {
				fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
				if err != nil {
					break
				}
				fds = append(fds, fd)
			}
			made.Add(int64(len(fds)))
			_ = shm.SendDescriptors(ends[1], marks.Answer{Number: r.Number, Kind: r.Kind, Count: len(fds)}.AppendTo(nil), fds)
			shm.CloseDescriptors(fds)
		}
	}()
	reserve = marks.New(ends[0], slog.New(slog.DiscardHandler))
	t.Cleanup(func() { reserve.Close(); _ = ends[1].Close(); <-done })
	return reserve, made
}

func TestFlowsWithAMarkUseTheSocketsNetdMade(t *testing.T) {
	reserve, made := makeDatagramSockets(t)
	a := newAppliance(t, 1)
	a.engine.MarkWith(reserve)
	f := a.farmUDP(answering(t, same).at())
	f.L4.Mark = 7
	a.publish(f)
	for range 3 {
		if ask(t, a.dialUDP(f), "x") != "x" {
			t.Error("answered wrong")
		}
	}
	if made.Load() == 0 {
		t.Error("no socket was asked for")
	}
}

func TestTheMarkOfDatagramsIsSet(t *testing.T) {
	if fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err == nil {
		defer syscall.Close(fd)
		if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_MARK, 7); errors.Is(err, syscall.EPERM) {
			t.Skip("not shown: an ordinary user may not set marks")
		}
	}
	a := newAppliance(t, 1)
	f := a.farmUDP(answering(t, same).at())
	f.L4.Backends[0].Mark = 7
	a.publish(f)
	if ask(t, a.dialUDP(f), "x") != "x" {
		t.Error("answered wrong")
	}
}

func TestDatagramsLeaveFromTheSourceTheFarmHas(t *testing.T) {
	a := newAppliance(t, 1)
	back, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	f := a.farmUDP(back.LocalAddr().String())
	source := netip.MustParseAddr("127.0.0.77")
	f.L4.Source = source
	a.publish(f)
	_, _ = a.dialUDP(f).Write([]byte("x"))
	_, from, err := back.ReadFromUDPAddrPort(make([]byte, 10))
	if err != nil || from.Addr() != source {
		t.Errorf("came from %s, %v", from, err)
	}
}
