package forward_test

import (
	"io"
	"net"
	"testing"
	"time"
)

// With a slow reader, data stays in a pipe and in the kernel for much longer than the idle
// time. The pair is active all the while.
func TestSlowReadersAreNotIdle(t *testing.T) {
	const size = 8 << 20
	a := newAppliance(t, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, size))
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	}).at())
	f.L4.IdleTimeout = 1
	a.publish(f)
	c := a.dial(f)
	_ = c.SetReadBuffer(32 << 10)
	got := 0
	chunk := make([]byte, 32<<10)
	for end := time.Now().Add(5 * time.Second / 2); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		n, err := io.ReadFull(c, chunk)
		if got += n; err != nil {
			t.Fatalf("%v after %d bytes", err, got)
		}
	}
	rest, err := io.Copy(io.Discard, c)
	if got += int(rest); err != nil || got != size {
		t.Errorf("%d of %d bytes came, %v", got, size, err)
	}
}

func TestReadersThatStallAreIdle(t *testing.T) {
	a := newAppliance(t, 1)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_, _ = c.Write(make([]byte, 64<<20))
	}).at())
	f.L4.IdleTimeout = 1
	a.publish(f)
	c := a.dial(f)
	_, _ = io.ReadFull(c, make([]byte, 64<<10))
	eventually(t, "the connection has ended", func() bool { return a.stats().Established == 0 })
	if n := a.stats().Timeouts; n != 1 {
		t.Errorf("%d time-outs", n)
	}
}
