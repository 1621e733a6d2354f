package accesslog

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/disk"
)

func folder(t *testing.T) (*os.Root, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

// lineChunk returns a chunk of one line.
func lineChunk(text string) *chunk {
	return &chunk{bytes: []byte(text + "\n"), ends: []int{len(text) + 1}}
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, Folder, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestFileIsRotatedBySizeAndFewAreKept(t *testing.T) {
	root, dir := folder(t)
	o := newFile(root, "shop", 100, 2)
	defer o.close()
	for i := range 12 { // 30 bytes each: three to a file
		if err := o.write(lineChunk(fmt.Sprintf("%029d", i))); err != nil {
			t.Fatal(err)
		}
	}
	names, _ := os.ReadDir(filepath.Join(dir, Folder))
	if len(names) != 3 {
		t.Errorf("files %v", names)
	}
	for name, first := range map[string]int{"shop.log": 9, "shop.log.1": 6, "shop.log.2": 3} {
		if got := content(t, dir, name); len(got) != 90 || !strings.HasPrefix(got, fmt.Sprintf("%029d\n", first)) {
			t.Errorf("%s holds %q", name, got)
		}
	}
}

func TestReopenCreatesAMovedFile(t *testing.T) {
	a := newAppliance(t, config(nil))
	a.put(nil)
	a.lines("shop.log", 1)
	if err := os.Rename(filepath.Join(a.dir, Folder, "shop.log"), filepath.Join(a.dir, Folder, "old")); err != nil {
		t.Fatal(err)
	}
	a.put(nil)
	a.lines("old", 2)
	a.pump.Reopen()
	eventually(t, func() bool {
		a.put(nil)
		_, err := os.Stat(filepath.Join(a.dir, Folder, "shop.log"))
		return err == nil
	})
}

func TestTruncatedLastLineIsRemoved(t *testing.T) {
	for before, want := range map[string]string{
		"":               "new\n",
		"one\n":          "one\nnew\n",
		"one\ntw":        "one\nnew\n",
		"tw":             "new\n",
		"one\n\n\x00bad": "one\n\nnew\n",
	} {
		root, dir := folder(t)
		if err := os.MkdirAll(filepath.Join(dir, Folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, Folder, "shop.log"), []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		o := newFile(root, "shop", 1<<20, 1)
		if err := o.write(lineChunk("new")); err != nil {
			t.Fatal(err)
		}
		o.close()
		if got := content(t, dir, "shop.log"); got != want {
			t.Errorf("%q became %q, want %q", before, got, want)
		}
	}
}

func TestOnlyRegularFilesAreWritten(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a link out of the directory": func(path string) error { return os.Symlink("/etc/hostname", path) },
		"a link within":               func(path string) error { return os.Symlink("other", path) },
		"a pipe":                      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":                    func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		root, dir := folder(t)
		if err := os.MkdirAll(filepath.Join(dir, Folder), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(filepath.Join(dir, Folder, "shop.log")); err != nil {
			t.Fatal(err)
		}
		o := newFile(root, "shop", 1<<20, 1)
		if err := o.write(lineChunk("x")); err == nil {
			t.Errorf("%s was written to", name)
		}
		o.close()
	}
}

func TestFileThatCannotBeWrittenLosesLinesAndRecovers(t *testing.T) {
	a := newAppliance(t, config(nil))
	blocked := filepath.Join(a.dir, Folder)
	if err := os.WriteFile(blocked, nil, 0o600); err != nil { // in place of the folder
		t.Fatal(err)
	}
	for i := range 3 {
		a.put(nil)
		eventually(t, func() bool { return a.pump.Stats().Failed == uint64(i+1) })
	}
	if got := strings.Count(a.log.String(), "cannot be written"); got != 1 {
		t.Errorf("%d warnings:\n%s", got, a.log.String())
	}
	if got := a.pump.Problems(time.Now()); len(got) != 1 || !strings.Contains(got[0], "shop.log, lines are lost") {
		t.Errorf("problems %q", got)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	a.put(nil)
	a.lines("shop.log", 1)
	eventually(t, func() bool { return strings.Contains(a.log.String(), "written again") })
	if got := a.pump.Problems(time.Now()); len(got) != 0 {
		t.Errorf("problems %q", got)
	}
}

func TestFailedWriteReopensTheFile(t *testing.T) {
	root, dir := folder(t)
	o := newFile(root, "shop", 1<<20, 1)
	defer o.close()
	if err := o.write(lineChunk("one")); err != nil {
		t.Fatal(err)
	}
	readOnly, err := root.Open(o.name)
	if err != nil {
		t.Fatal(err)
	}
	o.close()
	o.f, o.size = readOnly, 4
	if err := o.write(lineChunk("lost")); err == nil {
		t.Fatal("it was written")
	}
	if _, err := readOnly.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is held open: %v", err)
	}
	if err := o.write(lineChunk("two")); err != nil || content(t, dir, "shop.log") != "one\ntwo\n" {
		t.Errorf("got %v, %q, want %q", err, content(t, dir, "shop.log"), "one\ntwo\n")
	}
}

func TestUnrotatableFileKeepsGrowing(t *testing.T) {
	root, dir := folder(t)
	o := newFile(root, "shop", 100, 3)
	defer o.close()
	write := func(i int) error { return o.write(lineChunk(fmt.Sprintf("%029d", i))) }
	for i := range 9 { // they fill shop.log, shop.log.1 and shop.log.2
		if err := write(i); err != nil {
			t.Fatal(err)
		}
	}
	older := content(t, dir, "shop.log.2")
	// A file does not replace a folder.
	if err := os.MkdirAll(filepath.Join(dir, Folder, "shop.log.3", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := write(9 + i); err == nil {
			t.Fatal("a failed rotation is not reported")
		} else if _, ok := errors.AsType[notRotated](err); !ok {
			t.Fatalf("the line is lost: %v", err)
		}
	}
	if got := content(t, dir, "shop.log"); strings.Count(got, "\n") != 23 {
		t.Errorf("%d lines, want 23", strings.Count(got, "\n"))
	}
	if got := content(t, dir, "shop.log.2"); got != older {
		t.Errorf("an older file was pushed out: got %q, want %q", got, older)
	}
	if err := os.RemoveAll(filepath.Join(dir, Folder, "shop.log.3")); err != nil {
		t.Fatal(err)
	}
	if err := write(99); err != nil {
		t.Errorf("after the obstacle was removed: %v", err)
	}
	if got := content(t, dir, "shop.log"); strings.Count(got, "\n") != 1 {
		t.Errorf("the file was not rotated: %q", got)
	}
}

func TestFailedRotationIsLoggedOnce(t *testing.T) {
	var out strings.Builder
	counts, key := new(counts), target{}
	s := newSink(key, stuck{}, counts, func(uint64) {}, slog.New(slog.NewTextHandler(&out, nil)))
	for range 3 {
		c := s.line()
		c.bytes = append(c.bytes, "line\n"...)
		s.added()
		s.flush()
	}
	s.close()
	<-s.done
	if n := strings.Count(out.String(), "goes on growing"); n != 1 || counts.written.Load() != 3 || counts.failed.Load() != 0 {
		t.Errorf("%d written, %d failed, logged %d times:\n%s", counts.written.Load(), counts.failed.Load(), n, out.String())
	}
}

// stuck is an output whose file cannot be rotated.
type stuck struct{}

func (stuck) write(*chunk) error { return notRotated{errors.New("no")} }
func (stuck) reopen()            {}
func (stuck) close()             {}

// A full disk cuts a chunk at any byte: no part of a line may remain.
func TestFullDiskLeavesCompleteLines(t *testing.T) {
	dir := "/dev/shm"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("not shown: there is no /dev/shm")
	}
	root, dir := folder(t)
	o := newFile(root, "shop", 1<<30, 1)
	defer o.close()
	if err := o.write(lineChunk("first")); err != nil {
		t.Fatal(err)
	}
	var limit syscall.Rlimit
	const rlimitFsize = 1
	if err := syscall.Getrlimit(rlimitFsize, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 100
	if err := syscall.Setrlimit(rlimitFsize, &small); err != nil {
		t.Fatal(err)
	}
	err := o.write(lineChunk(strings.Repeat("x", 1000)))
	if e := syscall.Setrlimit(rlimitFsize, &limit); e != nil {
		t.Fatal(e)
	}
	if err == nil {
		t.Fatal("a write beyond the limit succeeded")
	}
	if got := content(t, dir, "shop.log"); got != "first\n" {
		t.Errorf("the file holds %d bytes: %.50q", len(got), got)
	}
	if err := o.write(lineChunk("last")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "shop.log"); got != "first\nlast\n" {
		t.Errorf("the file holds %q, want %q", got, "first\nlast\n")
	}
}

func TestFullDiskErrorContainsAdvice(t *testing.T) {
	root, dir := folder(t)
	o := newFile(root, "shop", 100, 2)
	defer o.close()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	o.f = full
	err = o.write(lineChunk("a"))
	want := disk.Explain(dir, syscall.ENOSPC).Error()
	_, advice, _ := strings.Cut(want, ": ")
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "shop.log") || !strings.Contains(err.Error(), advice) {
		t.Errorf("the error %v does not contain %q", err, advice)
	}
}
