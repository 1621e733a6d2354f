package loop_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/loop"
)

// relay forwards datagrams from its UDP listener to one peer, and responses to the last
// client.
type relay struct {
	out      *loop.UDPConn
	in       *loop.UDPListener
	from, to loop.Endpoint
	refused  chan error
	lost     chan int
	got      func(d *loop.Datagram)
}

func (r *relay) Received(in *loop.UDPListener, d *loop.Datagram) {
	if r.got != nil {
		r.got(d)
	}
	r.from, r.to = d.From, d.To
	r.out.Send(d.Data, d.Segment)
}

func (r *relay) Lost(_ *loop.UDPListener, _ loop.Endpoint, n int) { r.lost <- n }

func (r *relay) Answered(_ *loop.UDPConn, d *loop.Datagram) {
	r.in.Send(d.Data, d.Segment, &r.from, &r.to)
}

func (r *relay) Refused(_ *loop.UDPConn, err error) { r.refused <- err }
func (r *relay) Unsent(_ *loop.UDPConn, n int)      { r.lost <- n }

func bind(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Skipf("not shown, this machine has no such address: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_ = c.SetReadBuffer(1 << 20)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func portOf(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }

// startRelay listens on addr and relays to peer. It returns the listener's address.
func startRelay(t *testing.T, l *loop.Loop, addr string, peer netip.AddrPort) (*relay, netip.AddrPort) {
	t.Helper()
	c := bind(t, addr)
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{refused: make(chan error, 100), lost: make(chan int, 100)}
	on(l, func() {
		if r.in, err = l.ListenUDP(f, r); err == nil {
			r.out, err = l.DialUDP(peer, r, loop.DialOptions{})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	at := portOf(c)
	_ = c.Close()
	return r, at
}

// echoUDP sends every datagram back.
func echoUDP(t *testing.T, addr string) netip.AddrPort {
	c := bind(t, addr)
	_ = c.SetDeadline(time.Time{})
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return portOf(c)
}

func dialUDP(t *testing.T, to netip.AddrPort) *net.UDPConn {
	t.Helper()
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + n)
	}
	return b
}

func TestDatagramsOfEveryLengthArriveUnchanged(t *testing.T) {
	for _, local := range []string{"127.0.0.1:0", "[::1]:0"} {
		l := start(t)
		_, at := startRelay(t, l, local, echoUDP(t, local))
		c := dialUDP(t, at)
		buf := make([]byte, 1<<16)
		for _, n := range []int{0, 1, 64, 1472, 1473, 9000, 65507, 0, 3} {
			want := pattern(n)
			if _, err := c.Write(want); err != nil {
				t.Fatal(err)
			}
			got, err := c.Read(buf)
			if err != nil || !bytes.Equal(buf[:got], want) {
				t.Fatalf("%s: sent %d bytes, received %d, %v", local, n, got, err)
			}
		}
	}
}

func TestAnswersLeaveFromTheAddressTheClientUsed(t *testing.T) {
	for _, c := range []struct{ any, used string }{{"0.0.0.0:0", "127.3.2.1"}, {"[::]:0", "::1"}} {
		l := start(t)
		_, at := startRelay(t, l, c.any, echoUDP(t, "127.0.0.1:0"))
		client := dialUDP(t, netip.AddrPortFrom(netip.MustParseAddr(c.used), at.Port()))
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 10)); err != nil { // a connected socket receives only from that address
			t.Errorf("%s: %v", c.used, err)
		}
	}
}

func TestAClosedPortIsReported(t *testing.T) {
	l := start(t)
	gone := bind(t, "127.0.0.1:0")
	peer := portOf(gone)
	_ = gone.Close()
	r, at := startRelay(t, l, "127.0.0.1:0", peer)
	client := dialUDP(t, at)
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := <-r.refused; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("reported %v", err)
	}
}

// mixed lists the lengths of the datagrams that return, in order, however they were
// bundled.
var mixed = []int{100, 100, 100, 40, 100, 0, 0, 7, 7, 7, 7, 9, 1400, 1400, 200, 20000, 20000, 1}

func TestABatchOfMixedDatagramsArrivesInOrder(t *testing.T) {
	l := start(t)
	sink := bind(t, "127.0.0.1:0")
	r, at := startRelay(t, l, "127.0.0.1:0", portOf(sink))
	client := dialUDP(t, at)
	// The loop is blocked until all datagrams wait.
	free := make(chan struct{})
	l.Post(func() { <-free })
	for i, n := range mixed {
		b := pattern(n)
		if n > 0 {
			b[0] = byte(i)
		}
		if _, err := client.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	close(free)
	buf := make([]byte, 1<<16)
	for i, want := range mixed {
		n, err := sink.Read(buf)
		if err != nil || n != want || n > 0 && buf[0] != byte(i) {
			t.Fatalf("datagram %d has %d bytes, want %d: %v", i, n, want, err)
		}
	}
	select {
	case n := <-r.lost:
		t.Errorf("%d lost", n)
	default:
	}
}

func TestCoalescedDatagramsAreSplit(t *testing.T) {
	l := start(t)
	sink := bind(t, "127.0.0.1:0")
	r, at := startRelay(t, l, "127.0.0.1:0", portOf(sink))
	segments := make(chan int, 10)
	on(l, func() { r.got = func(d *loop.Datagram) { segments <- d.Count() } })
	client := dialUDP(t, at)
	raw, err := client.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	payload := pattern(10*300 + 17)
	_ = raw.Write(func(fd uintptr) bool {
		if err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, 300); err == nil {
			_, err = unix.Write(int(fd), payload)
		}
		return true
	})
	if err != nil {
		t.Skipf("not shown: this kernel does not send segments: %v", err)
	}
	if n := <-segments; n != 11 {
		t.Errorf("%d datagrams came together, 11 were sent so", n)
	}
	buf := make([]byte, 1<<16)
	for want := payload; len(want) > 0; {
		n, err := sink.Read(buf)
		if err != nil || !bytes.Equal(buf[:n], want[:min(300, len(want))]) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		want = want[n:]
	}
}

// inNamespace runs l in a new network namespace whose loopback device has the given
// MTU.
func inNamespace(t *testing.T, mtu int) *loop.Loop {
	t.Helper()
	l, err := loop.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = loopbackUp(mtu)
		}
		made <- err
		_ = l.Run()
	}()
	t.Cleanup(l.Stop)
	if err := <-made; err != nil {
		t.Skipf("not shown: no network namespace: %v", err)
	}
	return l
}

func loopbackUp(mtu int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	set := func(request uint, value uint32) error {
		r, err := unix.NewIfreq("lo")
		if err != nil {
			return err
		}
		r.SetUint32(value)
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(s), uintptr(request), uintptr(unsafe.Pointer(r))); e != 0 {
			return e
		}
		return nil
	}
	return errors.Join(set(unix.SIOCSIFMTU, uint32(mtu)), set(unix.SIOCSIFFLAGS, unix.IFF_UP|unix.IFF_RUNNING))
}

func TestDatagramsBeyondTheMTULeaveOneByOne(t *testing.T) {
	l := inNamespace(t, 1500)
	var sink, client *net.UDPConn
	var r *relay
	on(l, func() {
		sink = bind(t, "127.0.0.1:0")
		in := bind(t, "127.0.0.1:0")
		f, err := in.File()
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		r = &relay{refused: make(chan error, 100), lost: make(chan int, 100)}
		if r.in, err = l.ListenUDP(f, r); err != nil {
			t.Error(err)
		}
		if r.out, err = l.DialUDP(portOf(sink), r, loop.DialOptions{}); err != nil {
			t.Error(err)
		}
		client = dialUDP(t, portOf(in))
		for i := range 8 {
			b := pattern(4000)
			b[0] = byte(i)
			if _, err := client.Write(b); err != nil {
				t.Error(err)
			}
		}
	})
	buf := make([]byte, 1<<16)
	for i := range 8 {
		n, err := sink.Read(buf)
		if err != nil || n != 4000 || buf[0] != byte(i) {
			t.Fatalf("datagram %d: %d bytes, %v", i, n, err)
		}
	}
	select {
	case n := <-r.lost:
		t.Errorf("%d lost", n)
	default:
	}
}

func TestPanicCostsOnlyItsDatagram(t *testing.T) {
	l := start(t)
	r, at := startRelay(t, l, "127.0.0.1:0", echoUDP(t, "127.0.0.1:0"))
	on(l, func() {
		r.got = func(d *loop.Datagram) {
			if string(d.Data) == "bad" {
				panic("on purpose")
			}
		}
	})
	client := dialUDP(t, at)
	free := make(chan struct{})
	l.Post(func() { <-free })
	for _, text := range []string{"one", "bad", "two"} {
		if _, err := client.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	close(free)
	buf := make([]byte, 10)
	for _, want := range []string{"one", "two"} {
		if n, err := client.Read(buf); err != nil || string(buf[:n]) != want {
			t.Fatalf("%q, %v", buf[:n], err)
		}
	}
}

func TestUDPSocketFailsWithoutDescriptors(t *testing.T) {
	if os.Getenv("LOOP_NO_DESCRIPTORS") == "" {
		rerun(t, "LOOP_NO_DESCRIPTORS=1")
		return
	}
	l := start(t)
	_, at := startRelay(t, l, "127.0.0.1:0", echoUDP(t, "127.0.0.1:0"))
	client := dialUDP(t, at)
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	r := &relay{}
	var err error
	on(l, func() {
		for range 100 {
			if _, err = l.DialUDP(at, r, loop.DialOptions{}); err != nil {
				return
			}
		}
	})
	if !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("the error is %v", err)
	}
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(make([]byte, 10)); err != nil {
		t.Errorf("earlier clients are not served: %v", err)
	}
}

func ExampleEndpoint() {
	e := loop.EndpointOf(netip.MustParseAddrPort("[2001:db8::1]:53"))
	fmt.Println(e.AddrPort(), len(e.AppendTo(nil)))
	// Output: [2001:db8::1]:53 18
}
