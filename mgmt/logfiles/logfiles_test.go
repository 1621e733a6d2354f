package logfiles_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/logfiles"
)

// dir returns a data directory with these files; ages are in minutes.
func dir(t *testing.T, files map[string]string, ages ...string) logfiles.Dir {
	t.Helper()
	path := t.TempDir()
	if err := os.Mkdir(filepath.Join(path, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range ages {
		at := time.Now().Add(-time.Duration(i+1) * time.Minute)
		if err := os.Chtimes(filepath.Join(path, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return logfiles.Dir{Root: root}
}

func TestLogsAreListedNewestFirst(t *testing.T) {
	d := dir(t, map[string]string{"log/shop.log": "1", "log/shop.log.1": "22", "audit.log": "333", "audit.log.1": "", "store.db": "secret", "log/audit.log": "of a farm"},
		"audit.log", "log/shop.log", "log/audit.log", "log/shop.log.1", "audit.log.1")
	if err := d.Root.Mkdir("log/folder", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.Root.Symlink("../store.db", "log/link"); err != nil {
		t.Fatal(err)
	}
	list, err := d.List()
	var got []string
	for _, f := range list {
		got = append(got, fmt.Sprintf("%s:%d", f.Name, f.Size))
	}
	if want := "sluice-audit.log:3 shop.log:1 audit.log:9 shop.log.1:2 sluice-audit.log.1:0"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("%v, %v", got, err)
	}
	if age := time.Since(list[0].Modified); age < time.Minute || age > time.Hour {
		t.Errorf("modified %v ago", age)
	}
	for _, f := range list {
		file, size, err := d.Open(f.Name)
		if err != nil || size != f.Size {
			t.Errorf("%s: %d bytes, %v", f.Name, size, err)
			continue
		}
		_ = file.Close()
	}
	for _, name := range []string{"", ".", "..", "folder", "link", "../store.db", "none", "sluice-audit.log/../store.db", "sluice-audit.log.2"} {
		if _, _, err := d.Open(name); !errors.Is(err, logfiles.ErrNone) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := d.Last(name, 1); !errors.Is(err, logfiles.ErrNone) {
			t.Errorf("lines of %q: %v", name, err)
		}
	}
}

func TestWithoutLogsTheListIsEmpty(t *testing.T) {
	d := dir(t, nil)
	if err := d.Root.Remove("log"); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestLogsOfOneTimeAreListedByName(t *testing.T) {
	d := dir(t, map[string]string{"log/b": "", "log/z": "", "log/a": "", "log/c": "", "log/y": ""}, "log/z", "log/c", "log/a", "log/y", "log/b")
	at := time.Now().Add(-2 * time.Minute)
	for _, name := range []string{"log/a", "log/c", "log/b"} {
		if err := os.Chtimes(filepath.Join(d.Root.Name(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.List()
	names := ""
	for _, f := range list {
		names += f.Name
	}
	if err != nil || names != "zabcy" {
		t.Errorf("got %s, %v, want %s", names, err, "zabcy")
	}
}

func TestUnlistableFolderIsAnError(t *testing.T) {
	d := dir(t, nil)
	if err := errors.Join(d.Root.Remove("log"), d.Root.WriteFile("log", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if list, err := d.List(); err == nil || !strings.Contains(err.Error(), "list the logs") {
		t.Errorf("%v, %v", list, err)
	}
	if _, _, err := d.Open(strings.Repeat("x", 300)); err == nil || errors.Is(err, logfiles.ErrNone) {
		t.Errorf("a name that cannot be: %v", err)
	}
}

func gzipText(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheLastLinesComeNewestFirst(t *testing.T) {
	var long strings.Builder // several blocks
	for i := range 20_000 {
		fmt.Fprintf(&long, "line %d of many\n", i)
	}
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "c|b"}, {"a\nb\nc", 2, "c|b"}, {"a\nb\nc\n", 3, "c|b|a"}, {"a\nb\nc\n", 9, "c|b|a"}, {"", 3, ""}, {"a\n\nb\n", 2, "b|"},
		{long.String(), 2, "line 19999 of many|line 19998 of many"},
	} {
		d := dir(t, map[string]string{"log/a.log": c.text, "log/a.log.1.gz": gzipText(t, c.text)})
		for _, name := range []string{"a.log", "a.log.1.gz"} {
			lines, err := d.Last(name, c.n)
			if got := strings.Join(lines, "|"); err != nil || got != c.want || lines == nil {
				t.Errorf("%s, %d of %.20q: %q, %v", name, c.n, c.text, got, err)
			}
		}
	}
	d := dir(t, map[string]string{"log/a.log": long.String(), "log/a.gz": gzipText(t, long.String())})
	for _, name := range []string{"a.log", "a.gz"} {
		lines, err := d.Last(name, 10_000)
		if err != nil || len(lines) != 10_000 || lines[0] != "line 19999 of many" || lines[9_999] != "line 10000 of many" {
			t.Errorf("%s: %d lines, %v", name, len(lines), err)
		}
	}
}

func TestInvalidGzipIsAnError(t *testing.T) {
	d := dir(t, map[string]string{"log/a.gz": "text\n", "log/b.gz": gzipText(t, "text\n")[:15]})
	for _, name := range []string{"a.gz", "b.gz"} {
		if lines, err := d.Last(name, 1); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, lines, err)
		}
	}
	long := strings.Repeat("x", 200_000)
	d = dir(t, map[string]string{"log/a.gz": gzipText(t, "first\n"+long+"\nlast\n")})
	lines, err := d.Last("a.gz", 3)
	if len(lines) > 1 && len(lines[1]) != 64<<10 {
		t.Errorf("a long line is cut to %d bytes", len(lines[1]))
	}
	if err != nil || len(lines) != 3 || lines[0] != "last" || len(lines[1]) < 1000 || len(lines[1]) >= len(long) || lines[2] != "first" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}
