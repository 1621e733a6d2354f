package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
)

func TestTheLastLinesOfAFileAreShown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	var all strings.Builder
	for i := range 20_000 { // needs several reads
		fmt.Fprintf(&all, "line %d\n", i)
	}
	for _, c := range []struct {
		text  string
		lines int
		want  string
	}{
		{"", 5, ""}, {"a\nb\nc\n", 2, "b\nc\n"}, {"a\nb\n", 9, "a\nb\n"}, {"a\nb\n", 0, ""}, {"a\nb\n", 2, "a\nb\n"},
		{all.String(), 1, "line 19999\n"}, {all.String(), 19_999, strings.TrimPrefix(all.String(), "line 0\n")},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		tl := tail{path: path, out: &out}
		if err := tl.show(t.Context(), c.lines, false); err != nil || out.String() != c.want {
			t.Errorf("%d lines of %d bytes: %d bytes, want %d, %v", c.lines, len(c.text), out.Len(), len(c.want), err)
		}
	}
	missing := tail{path: path + "x", out: &all}
	if err := missing.show(t.Context(), 1, false); err != nil {
		t.Errorf("an empty log: %v", err)
	}
}

func TestLinesOfALogAreObjectsByJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte("one\nsays \"two\" \x1b[1m\n\nhalf"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	tl := tail{path: path, out: &jsonLines{to: &out}}
	const want = `{"line":"one"}` + "\n" + `{"line":"says \"two\" \u001b[1m"}` + "\n" + `{"line":""}` + "\n"
	if err := tl.show(t.Context(), 9, false); err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// awaits waits until exactly that was written.
func awaits(t *testing.T, out *logtest.Log, want string) {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		got := out.String()
		if got == want {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

func TestAFollowedLogGoesOnInTheFileThatTakesItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &logtest.Log{}, make(chan error, 1)
	tl := tail{path: path, out: out}
	go func() { ended <- tl.show(ctx, 1, true) }()
	write("1\n") // it did not exist
	awaits(t, out, "1\n")
	write("2\n")
	awaits(t, out, "1\n2\n")
	write("3\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("4\n")
	awaits(t, out, "1\n2\n3\n4\n")
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * tailLook) // polls the empty file; otherwise the next text could hide the truncation
	write("5\n")
	awaits(t, out, "1\n2\n3\n4\n5\n")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAFollowedLogThatCannotBeOpenedAgainEndsTheFollowing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, ended := &logtest.Log{}, make(chan error, 1)
	tl := tail{path: path, out: out}
	go func() { ended <- tl.show(t.Context(), 1, true) }()
	awaits(t, out, "1\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path) // a socket has a name and cannot be opened
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := <-ended; !errors.Is(err, syscall.ENXIO) {
		t.Errorf("it ended with %v", err)
	}
}
