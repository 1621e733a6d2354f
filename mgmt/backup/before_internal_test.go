package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestTheArchiveHasItsNameExactlyIfTheStateIsStored(t *testing.T) {
	failed := errors.New("the disk is full")
	for name, c := range map[string]struct {
		previous string
		fails    error
		want     string
	}{
		"the first":                  {"", nil, "new"},
		"the first, not stored":      {"", failed, ""},
		"with a previous one":        {"old", nil, "new"},
		"a previous one, not stored": {"old", failed, "old"},
	} {
		dir := t.TempDir()
		s := &staged{hidden: filepath.Join(dir, ".hidden"), path: filepath.Join(dir, "before")}
		write := func(path, text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(s.hidden, "new")
		if c.previous != "" {
			write(s.path, c.previous)
		}
		err := s.during(7, func() error {
			if got, _ := os.ReadFile(s.path); string(got) != "new" {
				t.Errorf("%s: during the step the archive is %q", name, got)
			}
			return c.fails
		})
		if !errors.Is(err, c.fails) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(s.path); string(got) != c.want {
			t.Errorf("%s: the archive is %q, want %q", name, got, c.want)
		}
		s.drop()
		if entries, _ := os.ReadDir(dir); len(entries) > 1 {
			t.Errorf("%s: left are %v", name, entries)
		}
	}
}

// If the process ends during the step, the next start finds out whether the state was stored.
func TestInterruptedRestoreKeepsTheMatchingArchive(t *testing.T) {
	for name, c := range map[string]struct {
		revision uint64
		want     string
	}{
		"before the state is stored": {7, "old"},
		"after it is stored":         {8, "new"},
	} {
		f := folder{t.TempDir()}
		for path, text := range map[string]string{f.hiddenBefore(): "new", f.file(Before): "old"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &staged{hidden: f.hiddenBefore(), path: f.file(Before), previous: f.previousBefore(7)}
		if _, err := s.swap(); err != nil { // and nothing follows
			t.Fatal(err)
		}
		if err := f.finishBefore(c.revision); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.sweep()
		if got, _ := os.ReadFile(f.file(Before)); string(got) != c.want {
			t.Errorf("%s: the archive is %q, want %q", name, got, c.want)
		}
		if entries, _ := os.ReadDir(f.path); len(entries) != 1 {
			t.Errorf("%s: left are %v", name, entries)
		}
	}
}

// The folder may not be on the disk although the archive has its name already, and the way
// back may fail, too: the previous archive is never removed.
func TestAFailedStepRemovesNoArchive(t *testing.T) {
	failed := errors.New("the disk is broken")
	defer func(was func(from, path string) error) { rename = was }(rename)
	for name, fail := range map[string]func(call int) bool{
		"the folder is not synced":              func(call int) bool { return call == 1 },
		"the folder is not synced either after": func(int) bool { return true },
		"the way back is not synced":            func(call int) bool { return call == 2 },
	} {
		f := folder{t.TempDir()}
		for path, text := range map[string]string{f.hiddenBefore(): "new", f.file(Before): "old"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		call := 0
		rename = func(from, path string) error {
			call++
			if err := os.Rename(from, path); err != nil {
				return err
			}
			if fail(call) {
				return failed
			}
			return nil
		}
		s := &staged{hidden: f.hiddenBefore(), path: f.file(Before)}
		if err := s.during(7, func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("%s: %v", name, err)
		}
		s.drop()
		if got, _ := os.ReadFile(f.file(Before)); string(got) != "old" {
			t.Errorf("%s: the archive is %q", name, got)
		}
	}
	rename = func(from, path string) error { return failed } // not renamed at all
	f := folder{t.TempDir()}
	path := f.previousBefore(7)
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.finishBefore(7) == nil {
		t.Error("the failure is hidden")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the archive is %q", got)
	}
}
