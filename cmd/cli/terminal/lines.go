package terminal

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrInterrupted says that Ctrl-C was typed instead of the end of a line.
var ErrInterrupted = errors.New("interrupted")

// History is the lines of before, the newest at 0.
type History interface {
	Len() int
	At(i int) string
}

// Lines reads lines somebody types. History and Complete may be nil.
type Lines struct {
	In  *os.File // a terminal
	Out io.Writer
	// History is gone through with the arrow keys, and with Ctrl-R to lines that hold
	// what was typed. Who reads the lines adds them to it.
	History History
	// Complete is asked at the tabulator key, with what stands before the cursor. It
	// returns what is to stand there instead, and what to show when that is the same.
	Complete func(before string) (instead, shown string)
}

// Read shows the prompt and returns the line typed behind it. The errors are io.EOF for
// Ctrl-D on an empty line, and ErrInterrupted for Ctrl-C.
func (l *Lines) Read(prompt string) (string, error) {
	return l.read(func(t *term.Terminal) (string, error) {
		t.SetPrompt(prompt)
		if l.History != nil {
			t.History = keptElsewhere{l.History}
		}
		back := &search{history: l.History}
		t.AutoCompleteCallback = func(line string, at int, key rune) (string, int, bool) {
			if key == ctrlR && l.History != nil {
				line = back.older(line)
				return line, len(line), true
			}
			if key != '\t' || l.Complete == nil {
				return "", 0, false
			}
			instead, shown := l.Complete(line[:at])
			if instead == line[:at] && shown != "" {
				_, _ = io.WriteString(t, shown+"\n") // above the prompt; the line is shown again
			}
			return instead + line[at:], len(instead), true
		}
		return t.ReadLine()
	})
}

// Password is Read for a line that is not shown and kept nowhere.
func (l *Lines) Password(prompt string) (string, error) {
	return l.read(func(t *term.Terminal) (string, error) { return t.ReadPassword(prompt) })
}

func (l *Lines) read(line func(*term.Terminal) (string, error)) (string, error) {
	back, err := raw(l.In)
	if err != nil {
		return "", err
	}
	defer back()
	k := &keys{from: l.In}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k, l.Out}, "")
	if columns, rows := Size(l.In); columns > 0 {
		_ = t.SetSize(columns, rows)
	}
	text, err := line(t)
	if k.interrupted {
		_, _ = io.WriteString(l.Out, "^C\r\n")
		return "", ErrInterrupted
	}
	if errors.Is(err, io.EOF) {
		_, _ = io.WriteString(l.Out, "\r\n")
	}
	return text, err
}

// keys gives one key at a time: what was typed ahead stays with the terminal, for the
// password or the command that reads it next.
type keys struct {
	from        io.Reader
	interrupted bool
}

const ctrlC = 3

func (k *keys) Read(b []byte) (int, error) {
	n, err := k.from.Read(b[:min(1, len(b))])
	k.interrupted = k.interrupted || n == 1 && b[0] == ctrlC
	return n, err
}

// keptElsewhere is a history whose lines are added by who reads them.
type keptElsewhere struct{ History }

func (keptElsewhere) Add(string) {}
