package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bootVariable is set in tests that run in their own kernel.
const bootVariable = "SLUICE_E2E_BOOTED"

// inUserMode runs the calling test again in its own kernel and reports whether this is
// there. The kernel is a user-mode Linux on this machine's files with the given modules, for
// features the machine's kernel may lack (SCTP, bonding, VLANs). A test starts with `if
// !inUserMode(t, "sctp") { return }`. It takes about two seconds.
//
// There is one CPU, and sockets can only be created in /run.
func inUserMode(t *testing.T, modules ...string) bool {
	t.Helper()
	if os.Getenv(bootVariable) != "" {
		return true
	}
	switch {
	case os.Geteuid() != 0:
		t.Skip("needs root: the files of a kernel of its own")
	case raceBuild:
		t.Skip("not under the race detector: its memory is more than a user-mode kernel gives")
	}
	needs(t, "linux.uml", "modprobe", "cc")
	verdict := boot(t, modules)
	switch {
	case strings.Contains(verdict, "--- SKIP: "+t.Name()+" "):
		t.Skipf("in a kernel of its own:\n%s", verdict)
	case !strings.Contains(verdict, "--- PASS: "+t.Name()+" "):
		t.Errorf("in a kernel of its own:\n%s", verdict)
	default:
		t.Logf("in a kernel of its own:\n%s", verdict)
	}
	return false
}

// began is printed by the first process when it has started.
const began = "the test begins"

// first is the first process of that kernel. Go's preemption signals would interrupt socket
// calls of the test, and are slow there.
const first = `#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run GODEBUG=asyncpreemptoff=1 %s=1 %s=%s
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /dev/shm
temporary=%s # may be in the /dev/shm of the host
mkdir -p $temporary; mount -t hostfs -o $temporary none $temporary
mkdir -p /run/modules/lib
ln -s /usr/lib/uml/modules /run/modules/lib/modules
printf '#!/bin/sh\nexec modprobe -d /run/modules "$@"\n' >/run/modprobe
chmod +x /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
echo "%s"
modprobe -d /run/modules -a veth bridge nf_tables %s
ip link set lo up
cd %s
%s -test.run='^%s$' -test.v -test.timeout=200s
echo o >/proc/sysrq-trigger
sleep 10
`

// boot runs the test and returns its output.
func boot(t *testing.T, modules []string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sluice-kernel-") // that kernel has a /dev of its own, with /dev/shm
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(first, bootVariable, programVariable, program, os.TempDir(), began, strings.Join(modules, " "), here, os.Args[0], t.Name())
	if err := os.WriteFile(filepath.Join(dir, "init"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "linux.uml", "rootfstype=hostfs", "rootflags=/", "rw", "mem=768M", "init="+filepath.Join(dir, "init"), "con=null", "con0=fd:0,fd:1", "uml_dir="+dir)
	cmd.Env = append(os.Environ(), wideRegisters(t, dir), "TMPDIR="+dir)
	out, err := cmd.CombinedOutput()
	_, verdict, booted := strings.Cut(string(out), began)
	if !booted {
		t.Skipf("a kernel of its own does not start here: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("in a kernel of its own, for too long:\n%s", verdict)
	}
	return verdict
}

// wideRegisters returns an environment setting that lets the kernel run on CPUs with larger
// registers than it knows. It is empty if it cannot be made; other CPUs do not need it.
func wideRegisters(t *testing.T, dir string) string {
	path := filepath.Join(dir, "xstate.so")
	if out, err := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", path, "testdata/usermode/xstate.c").CombinedOutput(); err != nil {
		t.Logf("not made: %v: %s", err, out)
		return ""
	}
	return "LD_PRELOAD=" + path
}

func TestUserModeKernelHasSCTP(t *testing.T) {
	t.Parallel()
	if !inUserMode(t, "sctp") {
		return
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
}
