// Package terminal is what is special about an input or output that is a terminal: its
// size, lines typed into it with a history and completion, and passwords, which it does
// not show. It is the door to golang.org/x/term.
package terminal

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// Stand is a reader or writer that stands before another one, as what is collected for
// a terminal does.
type Stand interface{ Behind() any }

// Of returns the terminal a reader or writer is, or stands before; nil when there is none.
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

// Size is how many columns and rows the terminal has; 0, 0 when it does not say.
func Size(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// raw has the terminal give each key as it is typed, until the function that is returned
// is called. A signal that ends the program gives the terminal back first.
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
