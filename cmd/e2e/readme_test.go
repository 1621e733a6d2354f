package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A new user pastes the two blocks of the README's first farm into two terminals. Here sudo
// is a script, make installs below a test directory, and the data directory is empty;
// everything else is as in the README.
func TestFirstFarmOfTheReadmeWorksByCopyAndPaste(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	needs(t, "make", "go", "python3", "curl")
	blocks := shellBlocks(t, "## The first farm")
	if len(blocks) < 2 {
		t.Fatalf("the first farm of the README has %d blocks of shell, want one to run it and one to use it", len(blocks))
	}
	if lines := strings.Count(blocks[0]+blocks[1], "\n"); lines >= 20 {
		t.Errorf("the first farm of the README takes %d lines, want fewer than 20", lines)
	}
	home := newcomer(t)
	runs := home.shell(blocks[0])
	stderr, err := runs.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	runs.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // like a terminal
	if err := runs.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var all strings.Builder
		serving := false
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			if all.WriteString(sc.Text() + "\n"); !serving && serves.MatchString(sc.Text()) {
				serving = true
				said <- ""
			}
		}
		said <- all.String()
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-runs.Process.Pid, syscall.SIGTERM)
		<-ended
		_ = runs.Wait()
	})
	select {
	case text := <-said:
		if text != "" {
			t.Fatalf("the appliance of the README did not start:\n%s", text)
		}
	case <-time.After(5 * time.Minute): // a cold build
		t.Fatal("the appliance of the README did not start")
	}
	for _, port := range regexp.MustCompile(`http\.server (\d+)`).FindAllStringSubmatch(blocks[0], -1) {
		within(t, 20*time.Second, "the backend on port "+port[1]+" listens", func() error { // before the user is at the other terminal
			c, err := net.Dial("tcp4", "127.0.0.1:"+port[1])
			if err == nil {
				err = c.Close()
			}
			return err
		})
	}
	out, err := home.shell(blocks[1]).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Directory listing") {
		t.Errorf("the second block of the README: %v\n%s", err, out)
	}
}

// shellBlocks returns the shell blocks below that heading of the README.
func shellBlocks(t *testing.T, heading string) (out []string) {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "\n"+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(rest, -1) {
		out = append(out, m[1])
	}
	return out
}

// firstUser is a user with only the sources: a directory for installed files, and
// replacements for programs that need a password or write to the system.
type firstUser struct {
	t         *testing.T
	dir, root string
}

func newcomer(t *testing.T) firstUser {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	u := firstUser{t, t.TempDir(), root}
	real, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(u.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sudo": `exec "$@"`,
		"make": fmt.Sprintf("exec %s BIN=%s/built/sluice PREFIX=%s \"$@\"", real, u.dir, u.dir),
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// shell runs a block in the source folder, up to the first line that fails.
func (u firstUser) shell(block string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", "-e", "-c", block)
	cmd.Dir = u.root
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(u.dir, "bin")+":"+os.Getenv("PATH"), "SLUICE_DATA="+filepath.Join(u.dir, "data"), "MAKEFLAGS=", "MFLAGS=")
	return cmd
}
