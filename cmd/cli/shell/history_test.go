package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/cmd/cli/shell"
)

func open(t *testing.T, path string) *shell.History {
	t.Helper()
	h, err := shell.OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func TestAHistoryIsThereAgainAndOnlyItsOwnerReadsIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sluice", "history")
	h := open(t, path)
	for _, line := range []string{"farm list", "farm list", "status", "two\nlines", "farm list"} {
		if err := h.Keep(line); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, path)
	if again.Len() != 3 || again.At(0) != "farm list" || again.At(1) != "status" || again.At(2) != "farm list" {
		t.Errorf("%d lines, the last %q", again.Len(), again.At(0))
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestAHistoryIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := open(t, path)
	for i := range 2500 {
		if err := h.Keep(fmt.Sprint("line ", i)); err != nil {
			t.Fatal(err)
		}
	}
	if h.Len() != 1000 || h.At(0) != "line 2499" {
		t.Errorf("%d lines, the last %q", h.Len(), h.At(0))
	}
	if again := open(t, path); again.Len() != 1000 || again.At(999) != "line 1500" {
		t.Errorf("%d lines, the first %q", again.Len(), again.At(999))
	}
	if err := open(t, path).Keep("more"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 1001 || !strings.HasSuffix(string(text), "line 2499\nmore\n") {
		t.Errorf("%v, %d lines in the file", err, strings.Count(string(text), "\n"))
	}
}

// A user with write access to the directory must not redirect the output to another file.
func TestAHistoryFollowsNoLinkAndIsKeptInMemoryThen(t *testing.T) {
	dir := t.TempDir()
	other, link := filepath.Join(dir, "other"), filepath.Join(dir, "history")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir, "/dev/null", filepath.Join(other, "history")} {
		h, err := shell.OpenHistory(path)
		if err == nil {
			t.Errorf("%s was opened", path)
		}
		if err := h.Keep("farm list"); err != nil || h.Len() != 1 || h.Close() != nil {
			t.Errorf("%s: %v, %d lines", path, err, h.Len())
		}
	}
	if text, err := os.ReadFile(other); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}
