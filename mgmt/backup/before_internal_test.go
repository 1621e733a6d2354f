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
		err := s.during(func() error {
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
