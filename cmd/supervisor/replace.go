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
	// stacksTime is how long a process that hangs may take to say where.
	stacksTime = 2 * time.Second
	// maxSaid bounds what the runtime of a process may say in one life, stacks of
	// all goroutines above all, in bytes.
	maxSaid = 256 << 10
	// pieceSize is how much of that is passed on at once, in bytes: stacks are more
	// lines than a queue of them takes.
	pieceSize = 4 << 10
)

// replace ends the life of a role that hangs; keep starts the next. The
// runtime is asked for the stacks of all goroutines (SIGQUIT) and has stacksTime
// for it. thread is where to ask, because a goroutine that runs has its stack
// shown by its own thread alone; 0 leaves that to the kernel.
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

// output is what a process has as its standard output and error: what its runtime
// says when it dies goes on to the supervisor's, in whole lines, up to maxSaid. What
// the role logs does not go this way.
type output struct {
	read *os.File
	done chan struct{}
	more int // bytes left out
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

// close waits for what the process said last and returns how many bytes were left
// out.
func (m *output) close() (more int) {
	// Whoever else may hold the other end is not waited for.
	_ = m.read.SetReadDeadline(time.Now().Add(time.Second))
	<-m.done
	_ = m.read.Close()
	return m.more
}
