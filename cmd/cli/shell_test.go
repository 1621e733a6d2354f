package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
)

// step is input that is typed after some output.
type step struct{ after, typed string }

// talk types step by step and returns all output. Before each step it calls meanwhile.
func talk(t *testing.T, steps []step, do func(tty *os.File), meanwhile ...func()) string {
	t.Helper()
	screen, tty := terminal(t, 100)
	shown := make(chan string)
	go func() {
		var all strings.Builder
		buf := make([]byte, 4096)
		seen := 0
		for {
			n, err := screen.Read(buf)
			if all.Write(buf[:n]); err != nil {
				shown <- all.String()
				return
			}
			for len(steps) > 0 {
				at := strings.Index(all.String()[seen:], steps[0].after)
				if at < 0 {
					break
				}
				seen += at + len(steps[0].after)
				for _, happens := range meanwhile {
					happens()
				}
				if steps[0].typed == "SIGINT" {
					_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
				} else if _, err := io.WriteString(screen, steps[0].typed); err != nil {
					t.Error(err)
				}
				steps = steps[1:]
			}
		}
	}()
	stuck := time.AfterFunc(20*time.Second, func() { // an expected text did not appear
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		_, _ = io.WriteString(screen, "\x03\x04")
	})
	do(tty)
	stuck.Stop()
	tty.Close()
	out := <-shown
	if len(steps) > 0 {
		t.Errorf("%q was never shown:\n%s", steps[0].after, out)
	}
	return out
}

func TestAShellIsTalkedWith(t *testing.T) {
	a := ready(t)
	home := t.TempDir()
	t.Setenv("XDG_DATA_HOME", home)
	prompt := hostname(t) + "> "
	code := 0
	out := talk(t, []step{
		{prompt, "farm sh\tsho\t\r"}, {"SETTING", ""}, {prompt, "sluice farm show none\r"}, {"does not exist", ""},
		{prompt, "user create ann\r"}, {"Password: ", "s3cret-word-1\r"}, {"Again: ", "s3cret-word-1\r"}, {"ann", ""},
		{prompt, "user create bob\r"}, {"Password: ", "\x03"}, {"interrupted", ""},
		{prompt, "farm list --watch=100ms\r"}, {"PROBLEM", "SIGINT"},
		{prompt, "half a line\x03"}, {"^C", ""}, {prompt, "user set ann zapikey=s3cret-word-2\r"}, {"", ""},
		{prompt, "farm list | wc\r"}, {"no pipes", ""}, {prompt, " status\r"}, {"revision", ""},
		{prompt, "\x1b[A\x1b[A\r"}, {"PROBLEM", "SIGINT"}, {prompt, "shell\r"}, {"unknown command", ""},
		{prompt, "exit 7\r"},
	}, func(tty *os.File) {
		code = cli.Execute([]string{"--data", a.data, "shell", "--color=never"}, tty, tty, tty)
	})
	if code != 7 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if strings.Contains(out, "s3cret-word-1") {
		t.Errorf("a password was shown:\n%s", out)
	}
	kept, err := os.ReadFile(filepath.Join(home, "sluice", "history"))
	if err != nil {
		t.Fatal(err)
	}
	want := "farm show shop \nsluice farm show none\nuser create ann\nuser create bob\nfarm list --watch=100ms\nfarm list | wc\nfarm list --watch=100ms\nshell\nexit 7\n"
	if string(kept) != want {
		t.Errorf("the history is\n%s\nwant:\n%s", kept, want)
	}
	if a.must("user", "show", "ann") == "" || a.run("user", "show", "bob").code != 1 {
		t.Error("ann was to be made, and bob was not")
	}
}

// The shell works without a directory for its history.
func TestAShellWithoutAHistoryGoesOn(t *testing.T) {
	a := ready(t)
	t.Setenv("XDG_DATA_HOME", "/dev/null")
	out := talk(t, []step{{"cannot be read", ""}, {"> ", "farm list\r"}, {"PROBLEM", ""}, {"> ", "\x04"}}, func(tty *os.File) {
		if code := cli.Execute([]string{"--data", a.data, "shell"}, tty, tty, tty); code != 0 {
			t.Errorf("exit %d", code)
		}
	})
	if !strings.Contains(out, "shop") {
		t.Errorf("shown:\n%s", out)
	}
}

func TestAShellRunsAScriptWithItsOwnFlags(t *testing.T) {
	a := ready(t)
	r := a.feed("farm list\nuser create ann\nsecret-1-of-ann\n# end\nfarm show none\n", "--json", "shell")
	if r.code != 1 || !strings.Contains(r.stdout, `"farmname": "shop"`) || !strings.Contains(r.stderr, `"message"`) {
		t.Errorf("%+v", r)
	}
	if a.run("user", "show", "ann").code != 0 {
		t.Errorf("the script made no user: %+v", r)
	}
	if r := execute("farm list\n", "shell", "--data", filepath.Join(a.data, "none")); r.code != 1 || !strings.Contains(r.stderr, "no running sluice") {
		t.Errorf("without an appliance: %+v", r)
	}
	if r := a.feed("farm list\n", "shell", "--quiet"); r.code != 0 || r.stdout != "" {
		t.Errorf("quiet: %+v", r)
	}
}
