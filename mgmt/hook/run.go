package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/sysnet/programs"
)

// Starter starts programs in a sandbox; *programs.Client is one. A process without a
// Starter starts them as its own user and with all its rights, as tests do; mgmt may not.
type Starter interface {
	Run(ctx context.Context, c programs.Call, files ...*os.File) (programs.End, error)
}

// Call is a call of a program. The program gets nothing else: no descriptor, and only the
// environment that every program needs.
type Call struct {
	Args []string
	Env  []string // NAME=value
	// Input is its standard input. A program may ignore it without being blocked.
	Input []byte
	// Limit is its time limit, which begins with its start; it must be positive.
	Limit time.Duration
	// Started is called when By has started it, possibly after a wait; nil: nothing is called.
	Started func()
	// By starts it; without one this process does.
	By Starter
}

// Run checks the program, calls it and waits for its end. It runs in a copy of its folder,
// which is removed afterwards. said is the beginning of its output, with any result. The
// error describes the failure for the operator, without that output.
func (p Program) Run(ctx context.Context, c Call) (said string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	call := programs.Call{Folder: p.Folder, File: p.Name, Name: "./" + p.Name}
	if c.By == nil {
		return c.Run(ctx, call)
	}
	files, names, err := p.open()
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return "", err
	}
	call.Beside = names
	return c.Run(ctx, call, files...)
}

// maxBeside is the greatest size of the other files in a program's copy of the folder, in
// bytes.
const maxBeside = 16 << 20

// open opens the program, and the files in its folder that it may read or run.
func (p Program) open() (files []*os.File, names []string, err error) {
	program, err := os.Open(filepath.Join(p.Folder, p.Name))
	if err != nil {
		return nil, nil, errors.New("it cannot be read")
	}
	files = append(files, program)
	entries, err := os.ReadDir(p.Folder)
	if err != nil {
		return files, nil, errors.New("its folder cannot be read")
	}
	room := int64(maxBeside)
	for _, e := range entries {
		if e.Name() == p.Name || NameProblem(e.Name()) != "" || !e.Type().IsRegular() || len(names) == programs.MaxBeside {
			continue
		}
		f, err := os.OpenFile(filepath.Join(p.Folder, e.Name()), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // it is not mgmt's: the program could not read it before either
		}
		if info, err := f.Stat(); err != nil || info.Size() > room {
			_ = f.Close()
			continue
		} else {
			room -= info.Size()
		}
		files, names = append(files, f), append(names, e.Name())
	}
	return files, names, nil
}

// Run calls a program that the caller has checked; it fills in the rest of call. An exit
// status other than 0 is an *ExitError; if the program did not run, it is a *StartError.
func (c Call) Run(ctx context.Context, call programs.Call, files ...*os.File) (said string, err error) {
	call.Args, call.Env, call.Input, call.Limit, call.Started = c.Args, c.Env, c.Input, c.Limit, c.Started
	var e programs.End
	if c.By == nil {
		e = programs.Direct(ctx, call)
	} else if e, err = c.By.Run(ctx, call, files...); err != nil {
		return "", &StartError{Why: err}
	}
	said = Shown(strings.Join(strings.Fields(string(e.Output)), " "))
	switch {
	case e.Unstarted == syscall.ENOENT.Error() && interpreter(call) != "":
		return said, &StartError{Why: fmt.Errorf("its interpreter %q is not there", interpreter(call))}
	case e.Unstarted != "":
		return said, &StartError{Why: errors.New(Shown(e.Unstarted))}
	case e.Excess != "":
		return said, fmt.Errorf("it was ended: %s", e.Excess)
	case e.Late:
		return said, fmt.Errorf("%w within %s", ErrLate, c.Limit)
	case e.Gone:
		return said, errors.New("it was ended, being not done when nobody waited for it any longer")
	case e.Exit != 0 || e.Signal != 0:
		return said, &ExitError{e.Exit, syscall.Signal(e.Signal)}
	}
	return said, nil
}

// interpreter returns the program in the first line of a script, or "". The kernel says
// only that some file is missing.
func interpreter(call programs.Call) string {
	f, err := os.Open(filepath.Join(call.Folder, call.File))
	if err != nil {
		return ""
	}
	defer f.Close()
	first := make([]byte, 256) // as the kernel reads it (BINPRM_BUF_SIZE)
	n, _ := io.ReadFull(f, first)
	line, _, _ := strings.Cut(string(first[:n]), "\n")
	words, is := strings.CutPrefix(line, "#!")
	blank := func(r rune) bool { return r == ' ' || r == '\t' } // "\r" of foreign line ends belongs to the name
	if fields := strings.FieldsFunc(words, blank); is && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// ErrLate occurs when a program ran for longer than its limit.
var ErrLate = errors.New("it was ended, being not done")

// StartError: a program was not started, or its result is unknown.
type StartError struct{ Why error }

// Error implements error.
func (e *StartError) Error() string { return e.Why.Error() }

// Unwrap returns why.
func (e *StartError) Unwrap() error { return e.Why }

// ExitError is an exit status of a program other than 0.
type ExitError struct {
	Exit   int
	Signal syscall.Signal // that ended it; 0: none
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Signal != 0 {
		return "signal: " + e.Signal.String()
	}
	return fmt.Sprintf("exit status %d", e.Exit)
}

// Shown makes a foreign text short and printable.
func Shown(s string) string {
	const most = 400
	s = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, strings.ToValidUTF8(s, "·"))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
