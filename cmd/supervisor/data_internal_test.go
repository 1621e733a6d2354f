package supervisor

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The leftovers of a stopped appliance are accessible while it is stopped, and no appliance
// can start meanwhile.
func TestDataOfAStoppedApplianceIsLocked(t *testing.T) {
	if _, err := Stopped(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	path := t.TempDir()
	if _, err := Stopped(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a foreign directory: %v", err)
	}
	d, err := openData(path, owners{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Stopped(path); err == nil || !strings.Contains(err.Error(), "another instance runs on "+path) {
		t.Errorf("while it runs: %v", err)
	}
	d.close()
	stopped, err := Stopped(path)
	if err != nil || stopped.Journal != nil {
		t.Fatalf("without a journal: %v %v", stopped, err)
	}
	if _, err := openData(path, owners{}); err == nil {
		t.Error("it can be started meanwhile")
	}
	stopped.Close()
	if d, err = openData(path, owners{}); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	f, err := openJournal(d, owners{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	d.close()
	stopped, err = Stopped(path)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(stopped.Journal); string(b) != "kept" {
		t.Errorf("the journal holds %q, %v", b, err)
	}
	stopped.Close()
	if _, err := stopped.Journal.Stat(); err == nil {
		t.Error("the journal is open after the release")
	}
	if err := os.Remove(filepath.Join(path, journalName)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(path, journalName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Stopped(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe in its place: %v", err)
	}
	if d, err = openData(path, owners{}); err != nil {
		t.Fatalf("after it was refused: %v", err)
	}
	defer d.close()
	if f, err := openJournal(d, owners{}); f != nil || err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("second open: %v", err)
	}
}

func TestForeignDataDirectoriesAreRefused(t *testing.T) {
	parent := t.TempDir()
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openData(filepath.Join(file, "x"), owners{}); err == nil || !strings.Contains(err.Error(), "choose another one with --data") {
		t.Errorf("below a file: %v", err)
	}
	path := filepath.Join(parent, "new", "data")
	if err := os.MkdirAll(filepath.Join(path, "lost+found"), 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := openData(path, owners{})
	if err != nil {
		t.Fatalf("a file system of its own: %v", err)
	}
	for _, name := range []string{mgmtSock, engineSock, netdSock} {
		if err := os.WriteFile(d.within(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := os.ReadFile(filepath.Join(path, lockName))
	if err != nil || string(lock) != strconv.Itoa(os.Getpid())+"\n" {
		t.Errorf("the lock names %q, %v", lock, err)
	}
	d.close()
	if d, err = openData(path, owners{}); err != nil {
		t.Fatal(err)
	}
	defer d.close()
	for _, name := range []string{mgmtSock, engineSock, netdSock} {
		if _, err := os.Lstat(d.within(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was left: %v", name, err)
		}
	}
	for name, mode := range map[string]fs.FileMode{".": 0o700, runName: 0o700, lockName: 0o600} {
		if st, err := os.Stat(filepath.Join(path, name)); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", name, st.Mode(), err, mode)
		}
	}
	if err := os.Mkdir(d.within(mgmtSock), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.within(mgmtSock+"/x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.removeSockets(); err == nil || !strings.Contains(err.Error(), "removing an old socket") {
		t.Errorf("an undeletable socket: %v", err)
	}
}

func TestDirectoryOwnershipIsChangedCompletely(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: an ordinary user's roles all have its uid")
	}
	o := findOwners()
	if !o.change {
		t.Skip("needs root: an ordinary user's roles all have its uid")
	}
	path := filepath.Join(t.TempDir(), "data")
	d, err := openData(path, owners{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.within(runName+"/deep"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.close()
	twin := filepath.Join(filepath.Dir(path), "elsewhere")
	if err := os.Link(filepath.Join(path, runName, "deep"), twin); err != nil {
		t.Fatal(err)
	}
	if _, err := openData(path, o); err == nil || !strings.Contains(err.Error(), "deep has a second name elsewhere") {
		t.Errorf("with a file that has a second name: %v", err)
	}
	if err := os.Remove(twin); err != nil {
		t.Fatal(err)
	}
	if d, err = openData(path, o); err != nil {
		t.Fatal(err)
	}
	d.close()
	for _, name := range []string{".", lockName, runName, runName + "/deep"} {
		st, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if s := st.Sys().(*syscall.Stat_t); s.Uid != o.manager.Uid || s.Gid != o.manager.Gid {
			t.Errorf("%s belongs to %d:%d", name, s.Uid, s.Gid)
		}
	}
	if _, err := openData(path, owners{}); err == nil || !strings.Contains(err.Error(), "start as its owner or as root") {
		t.Errorf("by another user: %v", err)
	}
	if o.managerUID() != o.manager.Uid || (owners{}).managerUID() != 0 {
		t.Errorf("mgmt is %d", o.managerUID())
	}
	if u := userNamed("nobody", 7); u.Uid == 7 || u.Uid == 0 || len(u.Groups) != 0 {
		t.Errorf("a user there is: %+v", u)
	}
	for _, name := range []string{"root", "sluice-none"} {
		if u := userNamed(name, 7); u.Uid != 7 || u.Gid != 7 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestProgramIsCopiedAndExecutable(t *testing.T) {
	from, err := os.Open("data.go")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("of a start that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := copyProgram(from, path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := os.ReadFile("data.go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	st, err := f.Stat()
	if err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy keeps its name: %v", err)
	}
	if _, err := copyProgram(from, filepath.Join(path, "none")); err == nil {
		t.Error("a copy nowhere")
	}
	from.Close()
	if _, err := copyProgram(from, path); err == nil {
		t.Error("a missing file was copied")
	}
}
