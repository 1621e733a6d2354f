package supervisor

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// A program started by a role may hold its output and outlive it.
func TestOutputHeldByOtherProcessesIsNotAwaited(t *testing.T) {
	var said bytes.Buffer
	m, output, err := openOutput(&said)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	text := strings.Repeat("a line\n", 2*pieceSize) + "the end"
	if _, err := output.WriteString(text); err != nil {
		t.Fatal(err)
	}
	closed := make(chan int)
	go func() { closed <- m.close() }()
	select {
	case more := <-closed:
		if said.String() != text || more != 0 {
			t.Errorf("%d bytes of %d were passed on, %d left out", said.Len(), len(text), more)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it is waited for")
	}
}
