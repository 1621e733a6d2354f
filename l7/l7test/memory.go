package l7test

import (
	"net"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/core/shm"
)

func memory(t testing.TB, size int) []byte {
	t.Helper()
	f, err := shm.Shared("test", size)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shm.MapShared(f, true)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	t.Cleanup(func() { _ = m.Close() })
	return m.Bytes()
}

// soReusePort lets each loop have a socket of its own on one port.
const soReusePort = 15

var reusable = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, soReusePort, 1)
		if failed == nil { // accepted connections inherit it, as from the sockets of netd
			failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		}
	})
	if err != nil {
		return err
	}
	return failed
}}
