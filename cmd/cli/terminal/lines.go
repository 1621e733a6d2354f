package terminal

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrInterrupted means that Ctrl-C was typed.
var ErrInterrupted = errors.New("interrupted")

// History holds earlier lines; 0 is the newest.
type History interface {
	Len() int
	At(i int) string
}

// Lines reads typed lines. History and Complete may be nil.
type Lines struct {
	In  *os.File // a terminal
	Out io.Writer
	// History is browsed with the arrow keys and searched with Ctrl-R. The caller adds new
	// lines to it.
	History History
	// Complete is called for the Tab key with the text before the cursor. It returns the
	// replacement, and text to show if that is unchanged.
	Complete func(before string) (instead, shown string)
}

// Read shows the prompt and returns the typed line. The errors are io.EOF for Ctrl-D on an
// empty line and ErrInterrupted for Ctrl-C.
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
				_, _ = io.WriteString(t, shown+"\n") // above the prompt; the line is redrawn
			}
			return instead + line[at:], len(instead), true
		}
		return t.ReadLine()
	})
}

// Password is Read without echo and history.
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

// keys returns one key at a time. Type-ahead stays in the terminal for the next reader, e.g.
// a password prompt or a command.
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

// keptElsewhere is a history to which the caller adds lines.
type keptElsewhere struct{ History }

func (keptElsewhere) Add(string) {}
