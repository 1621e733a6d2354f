package hook_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/hook"
)

// program writes a shell script into a folder of its own.
func program(t *testing.T, body string) tested {
	t.Helper()
	folder := filepath.Join(t.TempDir(), hook.Folder)
	must(t, os.Mkdir(folder, 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "it.sh"), []byte("#!/bin/sh\n"+body), 0o700))
	return tested{hook.Program{Folder: folder, Name: "it.sh"}}
}

// tested is a program of a test.
type tested struct{ hook.Program }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, err error, part string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("got %v, want %q", err, part)
	}
}

const enough = time.Minute

func TestRow23InvalidNamesRunNoProgram(t *testing.T) {
	p := program(t, "touch ran")
	for _, name := range []string{"", "../hooks/it.sh", "/bin/sh", "-rf", "_x", ".hidden", "it.sh/", "$(id)", "`id`", "a\nb", "a b", "ı", strings.Repeat("x", 65)} {
		p.Name = name
		_, err := p.Run(t.Context(), hook.Call{Limit: enough})
		wants(t, err, "is no name of a program")
		if hook.NameProblem(name) == "" {
			t.Errorf("%q is a name", name)
		}
	}
	if _, err := os.Stat(filepath.Join(p.Folder, "ran")); err == nil {
		t.Error("it ran")
	}
	for _, name := range []string{"a", "0", "dns.sh", "on-farm-start.mail_x", strings.Repeat("x", 64)} {
		if problem := hook.NameProblem(name); problem != "" {
			t.Error(problem)
		}
	}
}

func TestOnlyTheOperatorsOwnFilesAreRun(t *testing.T) {
	p := program(t, "exit 0")
	path := filepath.Join(p.Folder, p.Name)
	must(t, p.Check())
	for _, mode := range []os.FileMode{0o720, 0o702} {
		must(t, os.Chmod(path, mode))
		wants(t, p.Check(), "others may write it")
	}
	must(t, os.Chmod(path, 0o600))
	wants(t, p.Check(), "not executable")
	must(t, os.Chmod(path, 0o700))
	for _, mode := range []os.FileMode{0o770, 0o707} {
		must(t, os.Chmod(p.Folder, mode))
		wants(t, p.Check(), "the folder hooks of the data directory cannot be used: others may write it")
	}
	must(t, os.Chmod(p.Folder, 0o700))
	must(t, os.Symlink("/bin/true", filepath.Join(p.Folder, "link")))
	wants(t, hook.Program{Folder: p.Folder, Name: "link"}.Check(), "links are not followed")
	wants(t, hook.Program{Folder: p.Folder, Name: "none"}.Check(), "it does not exist")
	wants(t, hook.Program{Folder: path, Name: "x"}.Check(), "it is no folder")
	wants(t, hook.Program{Folder: filepath.Join(path, "x"), Name: "x"}.Check(), "it cannot be looked at")
	if os.Geteuid() != 0 {
		t.Skip("needs root: nobody else can give files away")
	}
	must(t, os.Chown(path, 65534, 65534))
	wants(t, p.Check(), "it belongs to user 65534")
	asOther(t, p)
	must(t, os.Chown(path, 0, 0))
	must(t, os.Chown(p.Folder, 65534, 65534))
	wants(t, p.Check(), "it belongs to user 65534")
}

func TestArgumentsReachNoShell(t *testing.T) {
	p := program(t, `echo "$1|$SLUICE_X|$HOME|$SLUICE_SECRET"`)
	t.Setenv("SLUICE_SECRET", "of this process")
	said, err := p.Run(t.Context(), hook.Call{Args: []string{"$(id); `id`"}, Env: []string{"SLUICE_X=$(id)"}, Limit: enough})
	must(t, err)
	if said != "$(id); `id`|$(id)|/|" {
		t.Errorf("it printed %q, want %q", said, "$(id); `id`|$(id)|/|")
	}
	p = program(t, "ls -l /proc/$$/fd; cat")
	mine, err := os.Create(filepath.Join(p.Folder, "mine"))
	must(t, err)
	defer mine.Close()
	said, err = p.Run(t.Context(), hook.Call{Limit: enough}) // its input has an end
	must(t, err)
	if !strings.Contains(said, "->") || strings.Contains(said, "mine") {
		t.Errorf("it has %s", said)
	}
}

func TestRow29AProgramThatHangsEndsWithItsChildren(t *testing.T) {
	p := program(t, "sleep 300 & echo $! $$ > pids\necho begun\nwait")
	said, err := p.Run(t.Context(), hook.Call{Limit: time.Second})
	wants(t, err, "it was ended, being not done within 1s")
	if said != "begun" {
		t.Errorf("it printed %q, want %q", said, "begun")
	}
	p.allGone(t, 2)
}

// allGone waits until all processes whose numbers a script wrote have ended.
func (p tested) allGone(t *testing.T, n int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Folder, "pids"))
	must(t, err)
	pids := strings.Fields(string(b))
	if len(pids) != n {
		t.Fatalf("%d processes: %q", len(pids), b)
	}
	for _, pid := range pids {
		eventually(t, "process "+pid+" lives", func() bool {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(state), ") Z ")
		})
	}
}

func eventually(t *testing.T, not string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(not)
		}
	}
}

func TestRow29ChildProcessesEndWithTheProgram(t *testing.T) {
	p := program(t, "for i in 1 2 3; do sleep 300 & echo $! >> pids; done; exit 0")
	_, err := p.Run(t.Context(), hook.Call{Limit: enough})
	must(t, err)
	p.allGone(t, 3)
}

func TestRow29OutputIsDrainedAndTruncated(t *testing.T) {
	p := program(t, "echo first; head -c 1000000000 /dev/zero; echo done > done")
	said, err := p.Run(t.Context(), hook.Call{Limit: enough})
	must(t, err)
	if !strings.HasPrefix(said, "first") || len(said) > 1000 {
		t.Errorf("%d bytes: %.100s", len(said), said)
	}
	if _, err := os.Stat(filepath.Join(p.Folder, "done")); err != nil {
		t.Error("its output blocked it")
	}
	said, _ = program(t, `printf 'a\033[31m\377b\n'`).Run(t.Context(), hook.Call{Limit: enough})
	if said != "a·[31m·b" {
		t.Errorf("escapes: got %q, want %q", said, "a·[31m·b")
	}
}

func TestRow29ExitOfAProgramIsExplained(t *testing.T) {
	for body, part := range map[string]string{"kill -SEGV $$": "segmentation fault", "kill -KILL $$": "killed", "exit 3": "exit status 3"} {
		_, err := program(t, body).Run(t.Context(), hook.Call{Limit: enough})
		wants(t, err, part)
	}
	p := program(t, "")
	must(t, os.WriteFile(filepath.Join(p.Folder, p.Name), []byte("#!/no/such/shell\n"), 0o700))
	_, err := p.Run(t.Context(), hook.Call{Limit: enough})
	wants(t, err, `its interpreter "/no/such/shell" is not there`)
}

func TestRow29UnreadInputBlocksNoCaller(t *testing.T) {
	input := []byte(strings.Repeat("x", 1<<20))
	said, err := program(t, "wc -c").Run(t.Context(), hook.Call{Limit: enough, Input: input})
	if err != nil || said != "1048576" {
		t.Errorf("got %q, %v, want %q", said, err, "1048576")
	}
	for _, body := range []string{"exit 0", "exec 0<&-; echo closed", "head -c 1 > /dev/null"} {
		if _, err := program(t, body).Run(t.Context(), hook.Call{Limit: enough, Input: input}); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	_, err = program(t, "sleep 300").Run(t.Context(), hook.Call{Limit: 50 * time.Millisecond, Input: input})
	wants(t, err, "not done within 50ms")
}

func TestACallEndsWithItsContext(t *testing.T) {
	p := program(t, "echo $$ > pids; sleep 300")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := p.Run(ctx, hook.Call{Limit: enough}); done <- err }()
	eventually(t, "it never began", func() bool {
		b, err := os.ReadFile(filepath.Join(p.Folder, "pids"))
		n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil && n > 0
	})
	cancel()
	wants(t, <-done, "when nobody waited for it any longer")
	p.allGone(t, 1)
}

// asOther checks a program of root as a user who may not read it.
func asOther(t *testing.T, p tested) {
	t.Helper()
	path := filepath.Join(p.Folder, p.Name)
	must(t, os.Chown(path, 0, 0))
	for dir := p.Folder; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755))
	}
	look := func() string {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "HOOK_TEST_LOOK="+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		must(t, err)
		return string(out)
	}
	if said := look(); !strings.Contains(said, "user 65534, as which mgmt runs, may not read and run it") {
		t.Errorf("of another user's: %q", said)
	}
	must(t, os.Chmod(path, 0o755))
	if said := look(); said != "" {
		t.Errorf("of root's: got %q, want \"\"", said)
	}
}

// TestMain also runs the check of a program as another user.
func TestMain(m *testing.M) {
	if path := os.Getenv("HOOK_TEST_LOOK"); path != "" {
		if err := (hook.Program{Folder: filepath.Dir(path), Name: filepath.Base(path)}).Check(); err != nil {
			os.Stdout.WriteString(err.Error())
		}
		return
	}
	os.Exit(m.Run())
}
