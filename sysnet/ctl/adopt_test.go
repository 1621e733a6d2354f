package ctl_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
)

// Once all other copies are closed, only the adopting netd holds the sockets, and clients
// wait in their accept queues.
func TestRestartedNetdAdoptsSockets(t *testing.T) {
	first := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), nil))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	key := "tcp/" + address
	files, err := first.Open(t.Context(), key, 2)
	if err != nil {
		t.Fatal(err)
	}
	var fds []int
	for _, f := range files {
		raw, _ := f.SyscallConn()
		_ = raw.Control(func(fd uintptr) {
			if twin, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
				fds = append(fds, twin)
			}
		})
		_ = f.Close()
	}
	if err := first.Close(t.Context(), key); err != nil { // simulates the death of that netd
		t.Fatal(err)
	}
	second := ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), nil))
	if err := second.Adopt(t.Context(), "tcp/127.0.0.1:1", fds); !errors.As(err, new(*ctl.Error)) {
		t.Errorf("sockets of another address: %v", err)
	}
	for range 2 { // the second call finds them held
		if err := second.Adopt(t.Context(), key, fds); err != nil {
			t.Fatal(err)
		}
	}
	for _, fd := range fds {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK == 0 {
			t.Errorf("a socket blocks now (%v): an engine would hang in it", err)
		}
		_ = unix.Close(fd)
	}
	for range 20 {
		c, err := net.DialTimeout("tcp", address, 2*time.Second)
		if err != nil {
			t.Fatalf("a client is refused: %v", err)
		}
		_ = c.Close()
	}
	if list, err := second.List(t.Context()); err != nil || len(list) != 1 || list[0] != key {
		t.Errorf("it holds %v (%v)", list, err)
	}
	if files, err := second.Open(t.Context(), key, 2); err != nil || len(files) != 2 {
		t.Errorf("opened again: %v", err)
	}
}
