package forward_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// urge sends one urgent byte, as telnet servers do within bulk output.
func urge(t *testing.T, c *net.TCPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Write(func(fd uintptr) bool {
			return unix.Sendto(int(fd), []byte{'!'}, unix.MSG_OOB, nil) != unix.EAGAIN
		})
	}
	if err != nil {
		t.Error(err)
	}
}

const urgentParts, urgentPart = 4, 4 << 20

// sayUrgently sends parts with an urgent byte between each two.
func sayUrgently(t *testing.T, c *net.TCPConn, rest time.Duration) {
	part := bytes.Repeat([]byte{'a'}, urgentPart)
	for i := range urgentParts {
		if i > 0 {
			urge(t, c)
			time.Sleep(rest)
		}
		_, _ = c.Write(part)
	}
	_ = c.CloseWrite()
}

// Splicing stops at an urgent byte: the socket looks empty or closed there.
func TestUrgentBytesDoNotStopTheRelay(t *testing.T) {
	for name, rest := range map[string]time.Duration{"at once": 0, "after a rest": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			a := newAppliance(t, 1)
			backendGot := make(chan []byte, 1)
			f := a.farm(serve(t, func(c *net.TCPConn) {
				var said sync.WaitGroup
				said.Go(func() { sayUrgently(t, c, rest) })
				got, _ := io.ReadAll(c)
				said.Wait()
				backendGot <- got
			}).at())
			a.publish(f)
			c := a.dial(f)
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			go sayUrgently(t, c, rest)
			got, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
				_ = c.SetLinger(0)
				_ = c.Close()
			}
			for side, got := range map[string][]byte{"client": got, "backend": <-backendGot} {
				if n, urgent := bytes.Count(got, []byte{'a'}), bytes.Count(got, []byte{'!'}); n != urgentParts*urgentPart || urgent != urgentParts-1 {
					t.Errorf("%d bytes and %d urgent ones came to the %s", n, urgent, side)
				}
			}
		})
	}
}

// Reading also stops once at an urgent byte.
func TestBytesBeforeUrgentDataAreRelayed(t *testing.T) {
	a := newAppliance(t, 1)
	say := make(chan bool)
	f := a.farm(serve(t, func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "hello\n")
		<-say
		_, _ = io.WriteString(c, "be")
		urge(t, c)
		_, _ = io.WriteString(c, "fore\n")
		say <- true
		_, _ = io.Copy(io.Discard, c)
	}).at())
	a.publish(f)
	c := a.dial(f)
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	line(t, c)
	a.loops[0].Post(func() { // reads when all data has arrived
		say <- true
		<-say
		time.Sleep(10 * time.Millisecond)
	})
	if got := line(t, c); got != "be!fore" {
		t.Errorf("got %q, want %q", got, "be!fore")
	}
}
