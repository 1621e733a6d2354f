package harden_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/harden"
)

// hookScript performs typical operations of operator hooks: files, pipes, children,
// lookups.
const hookScript = `set -e
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"; echo one > a; cp -p a b; mv b c; ln -s c d; ln c e; mkdir f; touch -d 2001-01-01 c; chmod 640 c; cat d | grep -q one
( sleep 0.01; echo two >> a ) & wait; test "$(wc -l < a)" = 2; sort a | uniq > g; find . -name g | xargs ls -l > /dev/null
date > /dev/null; id > /dev/null; hostname > /dev/null 2>&1 || true; getent hosts localhost > /dev/null || true`

// programVariable contains the script that a child runs as a program.
const programVariable, temporaryVariable, dataVariable, ownVariable = "HARDEN_PROGRAM", "HARDEN_TEMPORARY", "HARDEN_DATA", "HARDEN_OWN"

// programChild becomes progd and runs a script in its sandbox.
func programChild() {
	s := &harden.ProgramSandbox{Temporary: os.Getenv(temporaryVariable), Data: os.Getenv(dataVariable), Own: os.Getenv(ownVariable) != ""}
	st, err := s.Close()
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Status: st, Tried: map[string]string{}}
	private := filepath.Join(s.Temporary, "private")
	onOtherThread(func() {
		var out []byte
		err := s.Thread(private)
		if err == nil {
			cmd := exec.Command("/bin/bash", "-c", os.Getenv(programVariable))
			cmd.Env = []string{"TMPDIR=" + private, "HOME=" + private, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DATA=" + s.Data, "PARENT=" + fmt.Sprint(os.Getpid())}
			cmd.Dir = private
			out, err = cmd.CombinedOutput()
		}
		a.Tried["output"] = string(out)
		a.Tried["error"] = fmt.Sprint(err)
	})
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

// onOtherThread calls f on a thread other than the main thread.
func onOtherThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() {
			onOtherThread(f)
			return
		}
		f()
	}()
	<-done
}

// sandboxed runs a script as a program of an ordinary user and returns its output. The
// data directory is in a folder that programs may otherwise read, if possible.
func sandboxed(t *testing.T, script string, own bool) (out string, st harden.Status) {
	t.Helper()
	temporary, data := t.TempDir(), t.TempDir()
	for dir := temporary; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		mustDo(t, os.Chmod(dir, 0o755))
	}
	private := filepath.Join(temporary, "private")
	mustDo(t, os.Mkdir(private, 0o777))
	mustDo(t, os.Chmod(private, 0o777))
	mustDo(t, os.Chmod(data, 0o755))
	mustDo(t, os.WriteFile(filepath.Join(data, "node.key"), []byte("key"), 0o644))
	env := []string{programVariable + "=" + script, temporaryVariable + "=" + temporary, dataVariable + "=" + data}
	if own {
		env = append(env, ownVariable+"=1")
	}
	a := hardenedAs(t, "program", nil, env...)
	t.Logf("in force: %s; %s", a.Status, a.Tried["error"])
	return a.Tried["output"], a.Status
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSandboxedProgramsCanWork(t *testing.T) {
	for _, own := range []bool{false, true} {
		if out, _ := sandboxed(t, hookScript+"\nexec 3<>/dev/udp/127.0.0.1/9; echo x >&3; perl -e 'print 1 if -d $ENV{HOME}'; echo done", own); out != "1done\n" {
			t.Errorf("got %s, want %s", out, "1done\n")
		}
	}
}

func TestSandboxedProgramsAreIsolated(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "mgmt.sock"))
	mustDo(t, err)
	defer l.Close()
	// Each line prints its number on success.
	tries := []string{
		`cat $DATA/node.key`, `ls $DATA`, `cat /proc/$PARENT/cwd/* /proc/$PARENT/root/etc/passwd`, `cat /proc/$PARENT/environ`, `cat /proc/$PARENT/mem`,
		`kill -0 $PARENT`, `echo x > /tmp/sluice-programs-test`, `echo x > /var/tmp/sluice-programs-test`, `mkdir ~/../other`, `ln -s / ~/../link`, `unshare -U true`, `unshare -m true`,
		`ls /home /root /srv /var/spool`,
	}
	if _, err := exec.LookPath("perl"); err == nil {
		tries = append(tries,
			`perl -MSocket -e 'socket(S, AF_INET, SOCK_RAW, 1) or exit 1'`, `perl -MSocket -e 'socket(S, 17, SOCK_RAW, 3) or exit 1'`,
			`perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_un("`+l.Addr().String()+`")) or exit 1'`,
			`perl -e 'exit(syscall(101, 16, $ENV{PARENT}, 0, 0) < 0)'`)
	}
	var script strings.Builder
	for i, try := range tries {
		fmt.Fprintf(&script, "( %s ) >/dev/null 2>&1 && echo %d\n", try, i)
	}
	out, st := sandboxed(t, script.String(), false)
	for worked := range strings.FieldsSeq(out) {
		var i int
		_, _ = fmt.Sscan(worked, &i)
		files := i < 5 || 5 < i && i < 10 || i == 12 || i == 5
		if files && st.Landlock == 0 {
			t.Logf("not shown, without Landlock: %s", tries[i])
			continue
		}
		if i == 5 && st.Landlock < 6 {
			continue // no signal scope
		}
		t.Errorf("%s worked", tries[i])
	}
}

func TestSandboxedProgramsAreLimited(t *testing.T) {
	out, _ := sandboxed(t, "ulimit -u; ulimit -d; ulimit -f; ulimit -n; ulimit -c; nice", false)
	var processes int
	fields := strings.Fields(out)
	if len(fields) != 6 {
		t.Fatal(out)
	}
	if _, err := fmt.Sscan(fields[0], &processes); err != nil || processes < 1024 || processes > 100000 {
		t.Errorf("processes: %s", fields[0])
	}
	if want := []string{"524288", "32768", "4096", "0"}; !slices.Equal(fields[1:5], want) {
		t.Errorf("limits are %v, want %v", fields[1:5], want)
	}
}

// The parent of the data directory stays accessible to programs.
func TestDataDirectoryIsExcludedFromOpenFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes a folder in /opt")
	}
	mustDo(t, os.MkdirAll("/opt", 0o755))
	folder, err := os.MkdirTemp("/opt", "sluice-test-")
	mustDo(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	mustDo(t, os.Chmod(folder, 0o755))
	for _, name := range []string{"data", "other"} {
		mustDo(t, os.Mkdir(filepath.Join(folder, name), 0o755))
		mustDo(t, os.WriteFile(filepath.Join(folder, name, "file"), []byte(name), 0o644))
	}
	temporary := t.TempDir()
	for dir := temporary; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		mustDo(t, os.Chmod(dir, 0o755))
	}
	mustDo(t, os.Mkdir(filepath.Join(temporary, "private"), 0o777))
	mustDo(t, os.Chmod(filepath.Join(temporary, "private"), 0o777))
	a := hardenedAs(t, "program", nil, programVariable+"=cat $DATA/../other/file; cat $DATA/file; true", temporaryVariable+"="+temporary, dataVariable+"="+filepath.Join(folder, "data"))
	if a.Status.Landlock == 0 {
		t.Skip("needs a kernel with Landlock")
	}
	if out := a.Tried["output"]; !strings.HasPrefix(out, "other") || strings.Contains(out, "\ndata") || !strings.Contains(out, syscall.EACCES.Error()) && !strings.Contains(out, "Permission denied") {
		t.Errorf("it reads %q", out)
	}
}
