package ctl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/core/shm"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// serve starts a netd that allows uids (default: the uid of this process) and returns the
// path of its socket.
func serve(t *testing.T, uids ...uint32) string {
	t.Helper()
	if uids == nil {
		uids = ctltest.Self()
	}
	return ctltest.Serve(t, uids, nil)
}

func openSockets(t *testing.T, c *ctl.Client, addr netip.AddrPort, count int) []*os.File {
	t.Helper()
	return openedKey(t, c, ctl.KeyTCP(addr), count)
}

func openedKey(t *testing.T, c *ctl.Client, key string, count int) []*os.File {
	t.Helper()
	files, err := c.Open(t.Context(), key, count)
	if err != nil {
		t.Fatalf("opening %s: %v", key, err)
	}
	t.Cleanup(func() {
		for _, f := range files {
			_ = f.Close()
		}
	})
	return files
}

func inode(t *testing.T, f *os.File) uint64 {
	t.Helper()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return st.Sys().(*syscall.Stat_t).Ino
}

func TestOpenedSocketsAcceptConnections(t *testing.T) {
	addr := porttest.TCP(t)
	files := openSockets(t, ctltest.Client(t, serve(t)), addr, 1)
	l, err := net.FileListener(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
}

func TestSameKeyGivesTheSameSockets(t *testing.T) {
	path, addr := serve(t), porttest.TCP(t)
	first := openSockets(t, ctltest.Client(t, path), addr, 2)
	again := openSockets(t, ctltest.Client(t, path), addr, 2) // a new connection, as after a restart of mgmt
	for i := range first {
		if inode(t, first[i]) != inode(t, again[i]) {
			t.Errorf("socket %d is another one", i)
		}
	}
	grown := openSockets(t, ctltest.Client(t, path), addr, 3)
	if inode(t, grown[0]) != inode(t, first[0]) || inode(t, grown[2]) == inode(t, first[1]) {
		t.Error("a group that grows must keep its sockets and add one")
	}
}

func TestPendingConnectionsStayInTheBacklog(t *testing.T) {
	path, addr := serve(t), porttest.TCP(t)
	files := openSockets(t, ctltest.Client(t, path), addr, 1)
	_ = files[0].Close() // simulates the death of the engine
	c, err := net.Dial("tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("queued")); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(openSockets(t, ctltest.Client(t, path), addr, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b := make([]byte, 6)
	if _, err := io.ReadFull(in, b); err != nil || string(b) != "queued" {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestHeardAddressesAreReported(t *testing.T) {
	path, l := ctltest.Listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done, told := make(chan error, 1), make(chan string, 10)
	go func() {
		hear := func(at netip.AddrPort, open bool) { told <- fmt.Sprint(at, " ", open) }
		done <- ctl.Serve(ctx, nil, l, ctltest.Self(), quiet, nil, ctl.Hooks{Heard: hear})
	}()
	c, addr := ctltest.Client(t, path), porttest.TCP(t)
	openSockets(t, c, addr, 1)
	openSockets(t, c, addr, 2) // held already
	for range 2 {
		if err := c.Close(t.Context(), ctl.KeyTCP(addr)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	close(told)
	var all []string
	for s := range told {
		all = append(all, s)
	}
	if want := []string{addr.String() + " true", addr.String() + " false"}; !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
}

func TestAddressServedByAnotherProgramIsRefused(t *testing.T) {
	path, l := ctltest.Listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done, addr := make(chan error, 1), porttest.TCP(t)
	var free atomic.Bool
	go func() {
		taken := func(network string, at netip.AddrPort) string {
			if network == "tcp" && at == addr && !free.Load() {
				return "others get its clients"
			}
			return ""
		}
		done <- ctl.Serve(ctx, nil, l, ctltest.Self(), quiet, nil, ctl.Hooks{Taken: taken})
	}()
	c := ctltest.Client(t, path)
	_, err := c.Open(t.Context(), ctl.KeyTCP(addr), 1)
	if want := "cannot listen on " + addr.String() + ": others get its clients"; !errors.Is(err, ctl.ErrInUse) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	free.Store(true)
	openSockets(t, c, addr, 1)
	free.Store(false)
	openSockets(t, c, addr, 2) // held already
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCloseRemovesListenersFromList(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.TCP(t)
	files := openSockets(t, c, addr, 1)
	keys, err := c.List(t.Context())
	if err != nil || len(keys) != 1 || keys[0] != ctl.KeyTCP(addr) {
		t.Fatalf("list: %v, %v; want %s", keys, err, ctl.KeyTCP(addr))
	}
	_ = files[0].Close()
	if err := c.Close(t.Context(), ctl.KeyTCP(addr)); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context(), ctl.KeyTCP(addr)); err != nil {
		t.Errorf("closing a closed listener: %v", err)
	}
	if keys, _ := c.List(t.Context()); len(keys) != 0 {
		t.Errorf("list after close: %v", keys)
	}
	if conn, err := net.Dial("tcp", addr.String()); err == nil {
		_ = conn.Close()
		t.Error("the address still accepts connections")
	}
}

// sharing returns a ListenConfig that sets SO_REUSEPORT if share is true.
func sharing(share bool) *net.ListenConfig {
	return &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		_ = c.Control(func(fd uintptr) {
			if share {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, 15 /* SO_REUSEPORT */, 1)
			}
		})
		return err
	}}
}

// The kernel would silently let a foreign socket with SO_REUSEPORT and the same uid share
// the address.
func TestForeignListenerIsACollision(t *testing.T) {
	for _, share := range []bool{false, true} {
		l, err := sharing(share).Listen(t.Context(), "tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addr := l.Addr().(*net.TCPAddr).AddrPort()
		_, err = ctltest.Client(t, serve(t)).Open(t.Context(), ctl.KeyTCP(addr), 2)
		if !errors.Is(err, ctl.ErrInUse) || !strings.Contains(err.Error(), addr.String()) {
			t.Errorf("shared %v: got %v, want ErrInUse that names %s", share, err, addr)
		}
	}
}

func TestOwnWildcardDoesNotCollide(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.TCP(t)
	any4 := netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())
	openSockets(t, c, any4, 2)
	openSockets(t, c, addr, 2)
}

func TestForeignListenerUnderOwnWildcardIsACollision(t *testing.T) {
	c, addr := ctltest.Client(t, serve(t)), porttest.TCP(t)
	openSockets(t, c, addr, 1)
	other := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), addr.Port())
	l, err := sharing(true).Listen(t.Context(), "tcp4", other.String())
	if err != nil {
		t.Skipf("no second loopback address here: %v", err)
	}
	defer l.Close()
	any4 := netip.AddrPortFrom(netip.IPv4Unspecified(), addr.Port())
	if _, err := c.Open(t.Context(), ctl.KeyTCP(any4), 1); !errors.Is(err, ctl.ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
}

func TestAddressOfAnotherMachineIsNamed(t *testing.T) {
	_, err := ctltest.Client(t, serve(t)).Open(t.Context(), ctl.KeyTCP(netip.MustParseAddrPort("192.0.2.9:8080")), 1)
	want := "cannot listen on 192.0.2.9:8080: no interface of this machine has the address 192.0.2.9"
	if !errors.Is(err, ctl.ErrNotLocal) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestPrivilegedPortErrorExplainsTheLimit(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user: root may bind every port")
	}
	_, err := ctltest.Client(t, serve(t)).Open(t.Context(), ctl.KeyTCP(netip.MustParseAddrPort("127.0.0.1:81")), 1)
	if !errors.Is(err, ctl.ErrNotPermitted) {
		t.Errorf("got %v, want ErrNotPermitted", err)
	}
}

func TestIPv6ListenerLeavesIPv4Alone(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	_ = l.Close()
	c := ctltest.Client(t, serve(t))
	openSockets(t, c, netip.AddrPortFrom(netip.IPv6Unspecified(), port), 1)
	if conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port).String()); err == nil {
		_ = conn.Close()
		t.Error("an IPv6 wildcard accepted an IPv4 connection")
	}
	conn, err := net.Dial("tcp", netip.AddrPortFrom(netip.IPv6Loopback(), port).String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestStrangerIsTurnedAway(t *testing.T) {
	c := ctltest.Client(t, serve(t, uint32(os.Geteuid())+1))
	if _, err := c.List(t.Context()); err == nil {
		t.Error("a uid that is not allowed got an answer")
	}
}

func TestInvalidRequestsGetErrors(t *testing.T) {
	path := serve(t)
	conn, err := net.Dial("unixpacket", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 1024)
	for _, msg := range []string{"x", `{"op":"run"}`, `{"op":"open","count":1}`, `{"op":"list"} {}`} {
		if _, err := conn.Write([]byte(msg)); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(buf)
		if err != nil || !strings.Contains(string(buf[:n]), string(ctl.CodeInvalid)) {
			t.Errorf("%s: %q, %v", msg, buf[:n], err)
		}
	}
	if _, err := ctltest.Client(t, path).List(t.Context()); err != nil {
		t.Errorf("after nonsense: %v", err)
	}
}

func TestDescriptorsInARequestAreClosed(t *testing.T) {
	path := serve(t)
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := shm.Send(conn, []byte(`{"op":"list"}`), w); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_ = r.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the write end is still open in netd: %v", err)
	}
}

func TestClientFindsARestartedNetd(t *testing.T) {
	path, l := ctltest.Listen(t)
	defer l.Close()
	start := func() (stop func()) { // the listening socket outlives each netd
		f, err := l.File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		dup, err := net.FileListener(f)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = ctl.Serve(ctx, nil, dup.(*net.UnixListener), ctltest.Self(), quiet, nil)
		}()
		return func() { cancel(); <-done }
	}
	stop := start()
	c := ctltest.Client(t, path)
	addr := porttest.TCP(t)
	files := openSockets(t, c, addr, 1)
	stop()
	_ = files[0].Close()
	restarted := make(chan func(), 1)
	time.AfterFunc(50*time.Millisecond, func() { restarted <- start() })
	openSockets(t, c, addr, 1)
	(<-restarted)()
}

// When last is closed, only the engine's copies remain, which the engine closes. All
// other operations of netd continue.
func TestLastClosesAllListeners(t *testing.T) {
	path, l := ctltest.Listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	done, last := make(chan error, 1), make(chan struct{})
	go func() { done <- ctl.Serve(ctx, last, l, ctltest.Self(), quiet, nil) }()
	defer func() { cancel(); <-done }()
	c, addr := ctltest.Client(t, path), porttest.TCP(t)
	_ = openSockets(t, c, addr, 1)[0].Close()
	close(last)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		client, err := net.Dial("tcp", addr.String())
		if errors.Is(err, syscall.ECONNREFUSED) {
			break
		}
		if err == nil {
			_ = client.Close()
		}
		if time.Now().After(end) {
			t.Fatal("clients are still accepted:", err)
		}
	}
	if keys, err := c.List(t.Context()); err != nil || len(keys) != 0 {
		t.Errorf("listened on is %v, %v", keys, err)
	}
	if _, err := c.Open(t.Context(), ctl.KeyTCP(addr), 1); err == nil || !strings.Contains(err.Error(), "being stopped") {
		t.Errorf("it is listened on again: %v", err)
	}
}
