package loop_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/loop"
)

// A read stops before urgent data (tcp(7)), which FTP and telnet clients send to
// interrupt. Bytes after it must not stay in the socket.
func TestBytesAfterUrgentDataAreRead(t *testing.T) {
	l := start(t)
	got, dry := make(chan string, 8), make(chan bool, 8)
	addr := serve(t, l, func(c *loop.Conn) {
		c.SetHandler(&probe{readable: func(c *loop.Conn) {
			for {
				n, err := c.Read(l.In)
				if err != nil {
					if err != loop.ErrDry {
						c.Close()
					}
					dry <- true
					return
				}
				got <- string(l.In[:n])
			}
		}})
	})
	c := dial(t, addr)
	<-dry
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	on(l, func() { // everything has arrived when the loop polls
		_, _ = c.Write([]byte("abc"))
		if err := raw.Control(func(fd uintptr) { err = unix.Send(int(fd), []byte("!"), unix.MSG_OOB) }); err != nil {
			t.Error(err)
		}
		_, _ = c.Write([]byte("def"))
	})
	text, late := "", time.After(5*time.Second)
	for text != "abcdef" {
		select {
		case part := <-got:
			text += part
		case <-late:
			t.Fatalf("read %q", text)
		}
	}
}
