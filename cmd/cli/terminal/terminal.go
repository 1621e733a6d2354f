// Package terminal handles terminals: their size, line input with history and completion,
// and passwords without echo. It is the only importer of golang.org/x/term.
package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// Stand is a reader or writer in front of another one, e.g. a buffer for a terminal.
type Stand interface{ Behind() any }

// Of returns the terminal that a reader or writer is or leads to, or nil.
func Of(stream any) *os.File {
	for {
		s, is := stream.(Stand)
		if !is {
			break
		}
		stream = s.Behind()
	}
	f, is := stream.(*os.File)
	if !is || f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return f
}

// Size returns the columns and rows of the terminal, or 0, 0 if unknown.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// raw puts the terminal into raw mode until back is called. A signal that ends the program
// restores the mode first.
func raw(f *os.File) (back func(), err error) {
	was, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	ends, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(ends, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-over:
		case with := <-ends:
			_ = term.Restore(int(f.Fd()), was)
			signal.Reset(with)
			_ = syscall.Kill(os.Getpid(), with.(syscall.Signal))
		}
	}()
	return func() {
		signal.Stop(ends)
		close(over)
		_ = term.Restore(int(f.Fd()), was)
	}, nil
}
