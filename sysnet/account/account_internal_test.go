package account

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// speaking writes a program that accepts one password and records its arguments.
func speaking(t *testing.T, right string, otherwise string) (program, said string) {
	t.Helper()
	dir := t.TempDir()
	program, said = filepath.Join(dir, "chkpwd"), filepath.Join(dir, "said")
	script := "#!/bin/sh\nIFS= read -r got\nprintf '%s|%s' \"$*\" \"$(env | grep -c .)\" > " + said + "\n[ \"$got\" = '" + right + "' ] && exit 0\n" + otherwise + "\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return program, said
}

func TestPasswordReachesOnlyTheProgram(t *testing.T) {
	const right = `pa$$word "1" \ ü`
	program, said := speaking(t, right, "exit 7")
	r := &Root{program: program, pause: time.Nanosecond}
	for password, want := range map[string]bool{right: true, right + "x": false, "$HOME": false} {
		if got, err := r.Right(t.Context(), password); got != want || err != nil {
			t.Errorf("%q: got %t, %v, want %t", password, got, err, want)
		}
	}
	if text, err := os.ReadFile(said); err != nil || !strings.HasPrefix(string(text), "root nonull|") {
		t.Errorf("it was called with %q: %v", text, err)
	}
}

func TestImpossiblePasswordsAreNotChecked(t *testing.T) {
	r := &Root{program: "/none"}
	for _, password := range []string{"", strings.Repeat("x", MaxPassword+1), "a\x00b"} {
		if right, err := r.Right(t.Context(), password); right || err != nil {
			t.Errorf("%.5q: %t, %v", password, right, err)
		}
	}
	if _, err := r.Right(t.Context(), strings.Repeat("x", MaxPassword)); err == nil {
		t.Error("a password of the maximum length is not checked")
	}
}

func TestFailedCheckIsAnError(t *testing.T) {
	program, _ := speaking(t, "right", "exit 4")
	if right, err := (&Root{program: program}).Right(t.Context(), "wrong"); right || err == nil {
		t.Errorf("%t, %v", right, err)
	}
	was := programs
	defer func() { programs = was }()
	programs = []string{"/none/a", "/none/b"}
	if _, err := (&Root{}).Right(t.Context(), "any"); !errors.Is(err, ErrNotHere) {
		t.Errorf("without the program: %v", err)
	}
}

func TestWrongPasswordIsDelayed(t *testing.T) {
	program, _ := speaking(t, "right", "exit 7")
	r := &Root{program: program, pause: time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if right, err := r.Right(ctx, "wrong"); right || err != nil || ctx.Err() == nil {
		t.Errorf("%t, %v: it ended before its time", right, err)
	}
	if right, err := r.Right(t.Context(), "right"); !right || err != nil {
		t.Errorf("the right one waits too: %t, %v", right, err)
	}
}

// Guesses by strangers must not delay the correct password.
func TestWrongPasswordDelaysNoOther(t *testing.T) {
	program, _ := speaking(t, "right", "exit 7")
	r := &Root{program: program, pause: time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	var guesses sync.WaitGroup
	for range 20 {
		guesses.Go(func() { _, _ = r.Right(ctx, "wrong") })
	}
	time.Sleep(50 * time.Millisecond)
	in, end := context.WithTimeout(t.Context(), 20*time.Second)
	defer end()
	if right, err := r.Right(in, "right"); !right || err != nil {
		t.Errorf("%t, %v", right, err)
	}
	cancel()
	guesses.Wait()
}
