package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/core/farm"
)

// terminal returns a pseudo-terminal with that many columns. Its output can be read from the
// other end.
func terminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	control := func(request uintptr, value unsafe.Pointer) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(value)); errno != 0 {
			t.Fatal(errno)
		}
	}
	var locked, number int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{24, columns}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	if tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

// onTerminal returns the output of a command on it, until do has returned. saw is called
// with the output so far.
func onTerminal(t *testing.T, columns uint16, do func(tty *os.File), saw func(string)) string {
	t.Helper()
	screen, tty := terminal(t, columns)
	shown := make(chan string)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			if all.Write(buf[:n]); err != nil { // the terminal is closed
				shown <- strings.ReplaceAll(all.String(), "\r\n", "\n")
				return
			}
			saw(all.String())
		}
	}()
	do(tty)
	tty.Close()
	return <-shown
}

func notLooking(string) {}

func TestTerminalsGetColoursAndTablesOfTheirWidth(t *testing.T) {
	a := start(t)
	a.shop()
	a.health[1], a.health[2] = farm.StatusUp, farm.StatusUp
	const up = "FARM  STATUS  PROFILE  VIP         VPORT  PROBLEM\nshop  \x1b[32mup\x1b[0m      http     192.0.2.10  80     -\n"
	for _, c := range []struct {
		term, noColor string
		more          []string
		want          string
	}{
		{"xterm", "", nil, up}, {"xterm", "1", nil, ""}, {"dumb", "", nil, ""}, {"xterm", "", []string{"--color", "never"}, ""}, {"dumb", "1", []string{"--color=always"}, up},
	} {
		t.Setenv("TERM", c.term)
		t.Setenv("NO_COLOR", c.noColor)
		want := c.want
		if want == "" {
			want = strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(up)
		}
		out := onTerminal(t, 80, func(tty *os.File) {
			cli.Execute(append([]string{"--data", a.data, "farm", "list"}, c.more...), nil, tty, tty)
		}, notLooking)
		if out != want {
			t.Errorf("TERM=%s NO_COLOR=%s %v: %q, want %q", c.term, c.noColor, c.more, out, want)
		}
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cli.Execute([]string{"--data", a.data, "farm", "list"}, nil, file, file)
	if out, err := os.ReadFile(file.Name()); err != nil || string(out) != strings.NewReplacer("\x1b[32m", "", "\x1b[0m", "").Replace(up) {
		t.Errorf("in a file: %q, %v", out, err)
	}
	out := onTerminal(t, 40, func(tty *os.File) {
		cli.Execute([]string{"--data", a.data, "farm", "list", "--color", "never"}, nil, tty, tty)
	}, notLooking)
	if want := "FARM  STATUS  PROFILE  VIP         VPORT\nshop  up      http     192.0.2.10  80\n\nFARM  PROBLEM\nshop  -\n"; out != want {
		t.Errorf("on 40 columns: %q, want %q", out, want)
	}
}

// Colours of all coloured output, as sent.
func TestColoursSayWhatMatters(t *testing.T) {
	a := ready(t)
	var all strings.Builder
	for _, status := range []string{"up", "running", "down", "critical", "problem", "maintenance", "needed restart", "valid", "about to expire", "expired", "invalid", "undefined"} {
		data := canned(t, map[string]string{"/farms": `{"params":[{"farmname":"` + status + `","status":"` + status + `"}]}`})
		all.WriteString(execute("", "--data", data, "farm", "list", "--color", "always").stdout)
	}
	for _, command := range []string{"explain shop /", "backend list shop", "diff 2", "apply -f - --yes"} {
		all.WriteString(a.feed("farms: []\n", append(strings.Fields(command), "--color", "always")...).stdout)
	}
	data := canned(t, map[string]string{"/history/3/diff": `{"params":{"diff":"--- a\n+++ b\n@@ 1\n c\n-d\n+e\n"}}`})
	all.WriteString(execute("", "--data", data, "diff", "3", "--color", "always").stdout)
	golden(t, "colours", strings.ReplaceAll(all.String(), "\x1b", "^"))
}

func TestAWatchedTerminalIsClearedFirst(t *testing.T) {
	a := start(t)
	a.shop()
	for _, c := range []struct {
		more []string
		want string
	}{{nil, "\x1b[H\x1b[2JFARM"}, {[]string{"--json"}, "{\n"}} {
		ctx, cancel := context.WithCancel(t.Context())
		out := onTerminal(t, 200, func(tty *os.File) {
			root := cli.Root()
			root.SetArgs(append([]string{"--data", a.data, "stats", "--watch"}, c.more...))
			root.SetOut(tty)
			if err := root.ExecuteContext(ctx); err != nil {
				t.Error(err)
			}
		}, func(so string) {
			if strings.Contains(so, "shop") {
				cancel()
			}
		})
		if !strings.HasPrefix(out, c.want) {
			t.Errorf("%v: %q", c.more, out)
		}
	}
}
