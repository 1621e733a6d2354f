package terminal_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/cmd/cli/terminal"
)

// pseudo returns a terminal of 40 columns and 10 rows with its keyboard and screen.
func pseudo(t *testing.T) (keyboard, tty *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	control := func(request uintptr, value unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, keyboard.Fd(), request, uintptr(value)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var locked, number int32
	size := [4]uint16{10, 40}
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return keyboard, tty
}

type standing struct{ behind any }

func (s standing) Behind() any { return s.behind }

func TestATerminalIsFoundBehindWhatStandsBeforeIt(t *testing.T) {
	_, tty := pseudo(t)
	if terminal.Of(tty) != tty || terminal.Of(standing{standing{tty}}) != tty {
		t.Error("a terminal was not found")
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, other := range []any{null, &bytes.Buffer{}, nil, standing{null}, (*os.File)(nil)} {
		if terminal.Of(other) != nil {
			t.Errorf("%v is no terminal", other)
		}
	}
	if columns, rows := terminal.Size(tty); columns != 40 || rows != 10 {
		t.Errorf("%d columns, %d rows", columns, rows)
	}
	if columns, rows := terminal.Size(null); columns != 0 || rows != 0 {
		t.Errorf("of no terminal: %d columns, %d rows", columns, rows)
	}
}

// screen collects the output. After the first output, the prompt, something is typed in raw
// mode.
type screen struct {
	keyboard io.Writer
	typed    string
	mu       sync.Mutex
	text     strings.Builder
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text.Len() == 0 {
		if _, err := io.WriteString(s.keyboard, s.typed); err != nil {
			return 0, err
		}
	}
	return s.text.Write(b)
}

type before []string

func (b before) Len() int        { return len(b) }
func (b before) At(i int) string { return b[i] }

func TestALineIsTypedWithHistoryAndCompletion(t *testing.T) {
	const up, left = "\x1b[A", "\x1b[D"
	for typed, want := range map[string]struct {
		line  string
		err   error
		shows string
	}{
		"farm list\r":                 {"farm list", nil, "> farm list"},
		up + up + "\r":                {"older", nil, "newer"},
		"\x12\r":                      {"newer", nil, ""},
		"old\x12\r":                   {"older", nil, "older"},
		"e\x12\x12\r":                 {"older", nil, "newer"}, // the next match
		"e\x12\x12\x12\r":             {"older", nil, ""},      // there is no third match
		"older\x12\r":                 {"older", nil, ""},
		"none\x12x\r":                 {"nonex", nil, ""},
		"new\x12\x15old\x12\r":        {"older", nil, ""}, // Ctrl-U, then another search
		"fa\tx\r":                     {"farm x", nil, ""},
		"xx" + left + left + "fa\t\r": {"farm xx", nil, ""},
		"zz\t\r":                      {"zz", nil, "zz1  zz2"},
		"\x04":                        {"", io.EOF, ""},
		"abc\x03":                     {"", terminal.ErrInterrupted, "^C"},
	} {
		keyboard, tty := pseudo(t)
		shown := &screen{keyboard: keyboard, typed: typed + "ahead\n"}
		l := &terminal.Lines{In: tty, Out: shown, History: before{"newer", "older"}, Complete: func(before string) (string, string) {
			switch before {
			case "fa":
				return "farm ", ""
			case "zz":
				return "zz", "zz1  zz2"
			}
			return before, ""
		}}
		line, err := l.Read("> ")
		if line != want.line || !errors.Is(err, want.err) || !strings.Contains(shown.text.String(), want.shows) {
			t.Errorf("%q: %q, %v, shown %q", typed, line, err, &shown.text)
		}
		// Type-ahead is available to the next reader.
		if line, err := (&terminal.Lines{In: tty, Out: io.Discard}).Password(""); line != "ahead" || err != nil {
			t.Errorf("%q: %q is left, %v", typed, line, err)
		}
	}
}

func TestAPasswordIsNotShownAndCanBeGivenUp(t *testing.T) {
	for typed, want := range map[string]struct {
		text string
		err  error
	}{"s3cret\r": {"s3cret", nil}, "s3\x03": {"", terminal.ErrInterrupted}, "\x04": {"", io.EOF}} {
		keyboard, tty := pseudo(t)
		shown := &screen{keyboard: keyboard, typed: typed}
		text, err := (&terminal.Lines{In: tty, Out: shown}).Password("Password: ")
		if text != want.text || !errors.Is(err, want.err) || !strings.HasPrefix(shown.text.String(), "Password: ") || strings.Contains(shown.text.String(), "s3") || !strings.HasSuffix(shown.text.String(), "\r\n") {
			t.Errorf("%q: %q, %v, shown %q", typed, text, err, &shown.text)
		}
	}
	if _, err := (&terminal.Lines{In: os.Stdin, Out: io.Discard}).Read(""); terminal.Of(os.Stdin) == nil && err == nil {
		t.Error("a line was read without a terminal")
	}
}
