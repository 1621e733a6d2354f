package supervisor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// stacksTime bounds the stack dump of a hanging process.
	stacksTime = 2 * time.Second
	// maxSaid bounds the output of a process's runtime in bytes, mainly stacks of all
	// goroutines.
	maxSaid = 256 << 10
	// pieceSize is the size in bytes of the parts in which this output is forwarded, because
	// stacks have more lines than a queue.
	pieceSize = 4 << 10
)

// replace ends the process of a hanging role; keep starts the next one. First it makes the
// runtime print the stacks of all goroutines (SIGQUIT), for at most stacksTime. It signals
// thread, because only its own thread prints the stack of a running goroutine; 0 leaves the
// choice to the kernel.
func (k *runner) replace(pid, thread int, stopped bool, what string, hung time.Duration) {
	k.mu.Lock()
	process, over := k.process, k.lifeOver
	ends := k.stopping || process == nil || process.Pid != pid
	k.mu.Unlock()
	if ends {
		return
	}
	k.log.Error(k.name+" hangs, it is replaced", "what", what, "hung", hung.Round(time.Millisecond), "pid", pid)
	if thread == 0 || syscall.Tgkill(pid, thread, syscall.SIGQUIT) != nil {
		_ = process.Signal(syscall.SIGQUIT)
	}
	if stopped {
		_ = process.Signal(syscall.SIGCONT)
	}
	select {
	case <-over:
	case <-time.After(stacksTime):
		_ = process.Signal(syscall.SIGKILL)
		<-over
	}
}

// output is the standard output and error of a process. The messages of a dying runtime are
// forwarded to the supervisor's, in whole lines, up to maxSaid. The role's log uses another
// path.
type output struct {
	read *os.File
	done chan struct{}
	more int // bytes dropped
}

// openOutput returns the process's end, which the caller closes.
func openOutput(to io.Writer) (*output, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("output: %w", err)
	}
	m := &output{read: r, done: make(chan struct{})}
	go m.pass(to)
	return m, w, nil
}

func (m *output) pass(to io.Writer) {
	defer close(m.done)
	in := bufio.NewReaderSize(m.read, pieceSize)
	piece := make([]byte, 0, 2*pieceSize)
	for said := 0; ; {
		line, err := in.ReadSlice('\n')
		if said += len(line); said <= maxSaid {
			piece = append(piece, line...)
		} else {
			m.more += len(line)
		}
		if len(piece) >= pieceSize || len(piece) > 0 && (err != nil || in.Buffered() == 0) {
			_, _ = to.Write(piece)
			piece = piece[:0]
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// close waits for the last output of the process and returns the number of dropped bytes.
func (m *output) close() (more int) {
	// Other holders of the write end are not awaited.
	_ = m.read.SetReadDeadline(time.Now().Add(time.Second))
	<-m.done
	_ = m.read.Close()
	return m.more
}
