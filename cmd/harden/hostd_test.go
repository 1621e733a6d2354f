package harden_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/cmd/harden"
)

// hostFolders lists the folders in which each kind of request may replace files.
var hostFolders = map[string][]string{
	"dns": {"/etc"}, "ntp": {"/etc/chrony/sources.d", "/etc/systemd/timesyncd.conf.d"}, "ssh": {"/etc/ssh/sshd_config.d"}, "snmp": {"/etc/snmp/snmpd.conf.d"},
}

// hostChild uses its own mount namespace, so that its attempts do not affect the machine.
func hostChild(kind string) {
	prepare := func() error {
		if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
			return err
		}
		if err := unix.Mount("none", "/etc", "tmpfs", 0, ""); err != nil {
			return err
		}
		for _, folders := range hostFolders {
			for _, folder := range folders {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(folder, "old"), nil, 0o600); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := prepare()
	var st harden.Status
	if err == nil {
		st, err = harden.Host(kind)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a := attempts{Status: st, Tried: map[string]string{}}
	a.files(os.Getenv(folderVariable))
	a.machine()
	a.services()
	for _, folders := range hostFolders {
		for _, folder := range folders {
			a.try("replace in "+folder, func() error {
				in := filepath.Join(folder, "new")
				if err := os.WriteFile(in, []byte("x"), 0o600); err != nil {
					return err
				}
				return os.Rename(in, filepath.Join(folder, "old"))
			})
			a.try("remove in "+folder, func() error { return os.Remove(filepath.Join(folder, "old")) })
		}
	}
	a.try("connect by TCP", func() error { return dialFrom(os.Getenv(peerVariable)) })
	a.try("run /bin/sh", func() error { return exec.Command("/bin/sh", "-c", ":").Run() })
	a.try("write a sysctl of networks", func() error { return rewrite(netSysctl) })
	a.try("signal another process", func() error { return syscall.Kill(os.Getppid(), 0) })
	_ = json.NewEncoder(os.Stdout).Encode(a)
}

// hosted returns the attempts of hostd for a kind.
func hosted(t *testing.T, kind string) attempts {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"=hostd "+kind, folderVariable+"="+rootsFolder(t), peerVariable+"="+l.Addr().String(), serviceVariable+"="+service(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var a attempts
	if err := json.Unmarshal(out, &a); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

func TestHostdReplacesTheFilesOfItsServiceAlone(t *testing.T) {
	for kind, mine := range hostFolders {
		a := hosted(t, kind)
		t.Logf("%s, in force: %s", kind, a.Status)
		a.shut(t)
		if a.Status.Landlock == 0 {
			t.Skipf("needs Landlock: %s", a.Status.LandlockMissing)
		}
		for name, problem := range a.Tried {
			_, folder, about := strings.Cut(name, " in ")
			within := slices.ContainsFunc(mine, func(of string) bool { return folder == of || strings.HasPrefix(folder, of+"/") })
			may := about && strings.HasPrefix(folder, "/etc") && within || name == "signal another process" && kind == "ssh"
			if old := strings.HasSuffix(name, "to a service") || strings.HasPrefix(name, "send a service"); !(old && a.Status.Landlock < 9) && !may && problem == "" {
				t.Errorf("%s: %s worked", kind, name)
			}
			if may && problem != "" {
				t.Errorf("%s: %s must work: %s", kind, name, problem)
			}
		}
	}
}

func TestHostdAcceptsFewKinds(t *testing.T) {
	for kind, want := range map[string]bool{"dns": true, "ssh": true, "snmp": true, "ntp": true, "sudo": false, "": false} {
		if harden.HostMay(kind) != want {
			t.Errorf("%q: got %t, want %t", kind, !want, want)
		}
	}
	if _, err := harden.Host("sudo"); err == nil || err.Error() != `there are no requests about "sudo"` {
		t.Error(err)
	}
}

func TestSeccompFilterOfHostdFollowsTheTable(t *testing.T) {
	instructions, _ := bpf.Disassemble(harden.Filter("hostd", ownPID))
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		call []uint32
		want uint32
	}{
		{"a unix socket", []uint32{unix.SYS_SOCKET, unix.AF_UNIX}, allow}, {"one of the network", []uint32{unix.SYS_SOCKET, unix.AF_INET}, deny},
		{"another one", []uint32{unix.SYS_SOCKET, unix.AF_INET6}, deny}, {"netlink", []uint32{unix.SYS_SOCKET, unix.AF_NETLINK}, deny},
		{"rename", []uint32{unix.SYS_RENAMEAT2}, allow}, {"run a program", []uint32{unix.SYS_EXECVE}, allow}, {"link", []uint32{unix.SYS_LINKAT}, deny},
		{"make a device", []uint32{unix.SYS_MKNODAT}, deny}, {"give a file away", []uint32{unix.SYS_FCHOWNAT}, deny}, {"become another", []uint32{unix.SYS_SETUID}, deny}, {"open a file to others", []uint32{unix.SYS_FCHMOD}, deny},
	} {
		if got, err := vm.Run(seccompData(auditArch, c.call)); err != nil || uint32(got) != c.want {
			t.Errorf("%s: got %#x, %v", c.what, got, err)
		}
	}
}
