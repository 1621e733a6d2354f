package ctl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/marks"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// markOf returns the mark of a socket.
func markOf(t *testing.T, c syscall.Conn) (mark int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { mark, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK) }); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return mark
}

func TestSocketsOfProbesGetTheMarkOfTheirFarm(t *testing.T) {
	netd := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpMark: ctl.MarkSocket}))
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dial := func(network, address string, mark uint32) (net.Conn, error) {
		var d net.Dialer
		d.ControlContext = func(ctx context.Context, _, _ string, c syscall.RawConn) (err error) {
			failed := c.Control(func(fd uintptr) { err = netd.Mark(ctx, int(fd), mark) })
			return errors.Join(failed, err)
		}
		return d.DialContext(t.Context(), network, address)
	}
	at := server.Addr().String()
	for _, c := range []struct {
		network, address string
		mark             uint32
	}{{"tcp", at, 7}, {"udp", at, 1<<32 - 1}, {"udp6", "[::1]:9", 7}} {
		conn, err := dial(c.network, c.address, c.mark)
		if errors.Is(err, ctl.ErrNotPermitted) && os.Geteuid() != 0 {
			t.Skip("needs root: nobody else may set marks")
		}
		if err != nil {
			t.Errorf("%s: %v", c.network, err)
			continue
		}
		if got := markOf(t, conn.(syscall.Conn)); uint32(got) != c.mark {
			t.Errorf("%s: the mark is %d, wanted %d", c.network, got, c.mark)
		}
		_ = conn.Close()
	}
	// The socket must still be non-blocking after the transfer.
	conn, err := dial("tcp", at, 7)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, _ := conn.(syscall.Conn).SyscallConn()
	_ = raw.Control(func(fd uintptr) {
		if flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("the socket blocks: %x %v", flags, err)
		}
	})
}

func TestUnpublishedMarksAndNonSocketsAreRefused(t *testing.T) {
	netd := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpMark: ctl.MarkSocket}))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		fd   int
		mark uint32
		want string
	}{{socket, 0, "a mark that farms may have"}, {socket, marks.Transparent, "a mark that farms may have"}, {socket, marks.FirstOwn, "a mark that farms may have"}, {socket, marks.LastOwn, "a mark that farms may have"}, {fds[0], 7, "no socket of IPv4 or IPv6"}} {
		if err := netd.Mark(t.Context(), c.fd, c.mark); !errors.Is(err, ctl.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mark %d: %v", c.mark, err)
		}
	}
	if mark, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_MARK); mark != 0 || err != nil {
		t.Errorf("the mark is %d, %v, want 0", mark, err)
	}
	if err := netd.Ask(t.Context(), ctl.OpMark, rawBody(`{"mark":7}`), nil); !errors.Is(err, ctl.ErrInvalid) {
		t.Errorf("without a socket: %v", err)
	}
	file := os.NewFile(uintptr(socket), "socket")
	defer file.Close()
	for _, body := range []string{`{"mark":"7"}`, `{"mark":7,"more":1}`, `7`} {
		if err := netd.Ask(t.Context(), ctl.OpMark, rawBody(body), nil, file); !errors.Is(err, ctl.ErrInvalid) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

type rawBody string

func (b rawBody) MarshalJSON() ([]byte, error) { return fmt.Append(nil, string(b)), nil }

// netd must close its copy of the socket. Otherwise the backend would not see the end of
// the probe.
func TestMarkedProbeSocketEndsWithItsOwner(t *testing.T) {
	given := make(chan struct{}, 1)
	netd := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpMark: func(_ context.Context, _ []byte, files []*os.File) (any, error) {
		given <- struct{}{}
		return struct{}{}, nil
	}}))
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	backend, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	raw, _ := conn.(syscall.Conn).SyscallConn()
	_ = raw.Control(func(fd uintptr) { err = netd.Mark(t.Context(), int(fd), 7) })
	if <-given; err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	_ = backend.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := backend.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the backend reads %v", err)
	}
	if err := netd.Mark(t.Context(), -1, 7); !errors.Is(err, unix.EBADF) {
		t.Errorf("of no socket: %v", err)
	}
}

// If netd does not reply, the probe fails with the error of Mark before its own timeout.
func TestMarkRequestsTimeOutAfterOneSecond(t *testing.T) {
	release := make(chan struct{})
	netd := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), ctl.Parts{ctl.OpMark: func(context.Context, []byte, []*os.File) (any, error) {
		<-release
		return struct{}{}, nil
	}}))
	defer close(release)
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	began := time.Now()
	if err := netd.Mark(t.Context(), socket, 7); !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < 900*time.Millisecond || took > 5*time.Second {
		t.Errorf("after %v", took)
	}
}

func TestMissingMarkPermissionIsReported(t *testing.T) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(socket), "socket")
	defer file.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // stays locked: the thread ends with its reduced capabilities
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err := unix.Capset(&header, &none[0]); err != nil {
			t.Error(err)
		}
		_, err := ctl.MarkSocket(t.Context(), []byte(`{"mark":7}`), []*os.File{file})
		done <- err
	}()
	if err := <-done; !errors.Is(err, ctl.ErrNotPermitted) || !strings.Contains(err.Error(), marks.ErrNotPermitted.Error()) {
		t.Errorf("got %v", err)
	}
}
