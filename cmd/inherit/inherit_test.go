package inherit_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/inherit"
)

// TestMain also runs the inheriting child.
func TestMain(m *testing.M) {
	if os.Getenv("INHERIT_CHILD") == "1" {
		child()
		return
	}
	os.Exit(m.Run())
}

func child() {
	set, err := inherit.FromEnv()
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	f, err := set.File("text")
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	b, _ := io.ReadAll(f)
	flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFD, 0)
	l, err := set.UnixListener("door")
	if err != nil || flags&syscall.FD_CLOEXEC == 0 || os.Getenv(inherit.Variable) != "" {
		println("not closed on exec, variable left, or no listener")
		os.Exit(1)
	}
	c, err := l.Accept()
	if err != nil {
		os.Exit(1)
	}
	_, _ = c.Write(append(b, strings.Join(set.Names(), " ")...))
}

func TestChildFindsDescriptorsByName(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/text", []byte("given: "), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := os.Open(dir + "/text")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	l, err := net.Listen("unix", dir+"/door")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	door, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()

	value, files := inherit.Pass(map[string]*os.File{"text": text, "door": door})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INHERIT_CHILD=1", inherit.Variable+"="+value)
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", dir+"/door")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "given: door text"; string(got) != want {
		t.Errorf("the child answered %q, want %q", got, want)
	}
}

func TestWrongListsAreRefused(t *testing.T) {
	for _, list := range []string{"x", "x=", "=3", "x=2", "x=9999", "x=three"} {
		t.Run(list, func(t *testing.T) {
			t.Setenv(inherit.Variable, list)
			if _, err := inherit.FromEnv(); err == nil {
				t.Errorf("the list %q was accepted", list)
			}
		})
	}
}

func TestMissingDescriptorIsNamed(t *testing.T) {
	t.Setenv(inherit.Variable, "")
	set, err := inherit.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	_, err = set.Listener("api")
	if !errors.Is(err, inherit.ErrMissing) || !strings.Contains(err.Error(), "api") {
		t.Errorf("got %v, want ErrMissing that names api", err)
	}
}
