package settings_test

import (
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/sysnet/settings"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// needs skips the test unless it runs as root and the programs are installed.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, p := range programs {
		if settings.Find(p) == "" {
			t.Skipf("%s is not installed", p)
		}
	}
}

// apart runs a program with a private /run, where sshd needs a folder.
const apart = `mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"`

func sshdCommand(args ...string) []string {
	return append([]string{"-m", "sh", "-c", apart, "sh", "/usr/sbin/sshd"}, args...)
}

// sshdAt reports whether an sshd responds at the address.
func sshdAt(at netip.AddrPort) bool {
	c, err := net.DialTimeout("tcp", at.String(), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	greeting := make([]byte, 8)
	_, err = c.Read(greeting)
	return err == nil && strings.HasPrefix(string(greeting), "SSH-2.0-")
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	sysnettest.Eventually(t, func() (string, bool) { return "not yet: " + what, ok() })
}

// Debian's sshd accepts the settings, listens on the set address, and moves when it
// changes.
func TestSSHDListensOnTheSetAddress(t *testing.T) {
	needs(t, "sshd", "unshare", "ssh-keygen")
	b := newBox(t, map[string]string{"/usr/sbin/sshd": "", "/etc/ssh/sshd_config.d/": "", "/run/": ""})
	b.Run = func(ctx context.Context, program string, args ...string) (string, error) {
		if program != "sshd" {
			t.Errorf("%s is run", program)
		}
		return settings.Run(ctx, "unshare", sshdCommand(args...)...)
	}
	key := b.path("/etc/ssh/host_key")
	if said, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	b.write("/etc/ssh/sshd_config", "Include "+b.path("/etc/ssh/sshd_config.d")+"/*.conf\nHostKey "+key+"\nPidFile "+b.path("/run/sshd.pid")+"\n")
	set := func(at netip.AddrPort) string {
		t.Helper()
		return b.Do(t.Context(), settings.Request{Kind: settings.SSH, SSH: farm.SSH{Port: at.Port(), Listen: []netip.Addr{at.Addr()}}}).Problem
	}
	first, second := porttest.TCP(t), porttest.TCP(t)
	if problem := set(first); problem != "" {
		t.Fatal(problem)
	}
	daemon := exec.Command("unshare", sshdCommand("-D", "-e", "-f", b.path("/etc/ssh/sshd_config"))...)
	var said strings.Builder
	daemon.Stderr = &said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = daemon.Process.Kill(); _ = daemon.Wait() })
	eventually(t, "sshd listens", func() bool { return sshdAt(first) })
	eventually(t, "it wrote down its number", func() bool { return b.read("/run/sshd.pid") != "" })
	if problem := set(second); problem != "" {
		t.Fatal(problem)
	}
	eventually(t, "sshd moved", func() bool { return sshdAt(second) && !sshdAt(first) })

	before := b.read(dropIn)
	b.write("/etc/ssh/sshd_config", "Include "+b.path("/etc/ssh/sshd_config.d")+"/*.conf\nNonsense yes\n")
	if problem := set(first); !strings.Contains(problem, "sshd does not take it, nothing was changed") || !strings.Contains(problem, "Nonsense") || b.read(dropIn) != before {
		t.Errorf("of a configuration sshd cannot read: %q", problem)
	}
	if !sshdAt(second) {
		t.Error("sshd accepts no connections")
	}
}

// Debian's chrony synchronizes with the set server.
func TestChronyUsesTheSetServer(t *testing.T) {
	needs(t, "chronyd", "unshare", "ip")
	b := newBox(t, map[string]string{"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": ""})
	if problem, _ := b.do(ntp("127.0.0.1")); !strings.HasPrefix(problem, "chronyd was not told of it: this machine has no systemd") {
		t.Fatal(problem)
	}
	b.write("/server.conf", "local stratum 1\nallow 127.0.0.1\ncmdport 0\nbindcmdaddress /\npidfile "+b.path("/server.pid")+"\n")
	b.write("/client.conf", "sourcedir "+b.path("/etc/chrony/sources.d")+"\nport 0\ncmdport 0\nbindcmdaddress /\npidfile "+b.path("/client.pid")+"\n")
	const script = `ip link set lo up && { chronyd -x -d -u root -f "$1" >/dev/null 2>&1 & server=$!; chronyd -Q -t 20 -u root -f "$2"; status=$?; kill $server; exit $status; }`
	out, err := exec.Command("unshare", "-n", "sh", "-c", script, "sh", b.path("/server.conf"), b.path("/client.conf")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "System clock wrong by") {
		t.Errorf("chrony: %v\n%s", err, out)
	}
	if problem, _ := b.do(ntp("")); !strings.HasPrefix(problem, "chronyd was not told of it") || b.read("/etc/chrony/sources.d/sluice.sources") != "" {
		t.Errorf("after the failure: %q", problem)
	}
}
