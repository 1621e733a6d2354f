package loop

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Again grants one further turn, and none to a closed connection.
func TestAnotherTurnIsQueuedOnce(t *testing.T) {
	s := newSingle(t)
	_, _ = s.peer.WriteString("x")
	s.c.Wait()
	if !s.c.Watched() || s.c.Readable() || len(s.l.again) != 0 {
		t.Error("a connection that was not watched asks for a turn")
	}
	s.c.Wait() // nothing arrived meanwhile
	if len(s.l.again) != 0 {
		t.Error("it asks for a turn without anything to read")
	}
	s.c.flags |= flagReadable
	s.c.Wait()
	s.l.Again(s.c)
	if len(s.l.again) != 1 || !s.l.called {
		t.Errorf("%d turns are given", len(s.l.again))
	}
	s.l.runAgain()
	s.hears(t, "readable")
	s.l.runAgain()
	s.hears(t)
	s.l.Again(s.c)
	s.c.Close()
	s.l.runAgain()
	s.hears(t)
	if s.l.serve(s.c, unix.EPOLLIN); s.heard != nil {
		t.Error("a closed connection hears of an event")
	}
	secure := newSingle(t)
	secure.c.secure = &secured{conn: secure.c}
	if secure.c.Wait(); len(secure.l.again) != 1 || !secure.c.Watched() {
		t.Error("decrypted plaintext does not wake the connection")
	}
	secure.c.secure = nil
}
