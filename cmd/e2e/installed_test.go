package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// debs returns a folder with packages of this tree, one for each version.
func debs(t *testing.T, versions ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: a machine of its own")
	}
	if raceBuild {
		t.Skip("not under the race detector: packages are built without it; `make test` runs it")
	}
	needs(t, "dpkg-deb", "lintian")
	dir := t.TempDir()
	for _, v := range versions {
		cmd := exec.Command("make", "-C", "../..", "deb", "BIN="+dir+"/sluice", "STAGE="+dir+"/stage", "DEB_VERSION="+v)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make deb: %v\n%s", err, out)
		}
	}
	return dir
}

func one(t *testing.T, dir, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// The document of an installed appliance: a farm of each kind. The second is carried by the
// kernel.
const installedFarms = `farms:
- {name: shop, profile: http, vip: 127.0.0.1, vport: '8080', services: [{name: web, backends: [{ip: 127.0.0.1, port: 9}]}]}
- {name: quick, profile: l4xnat, vip: 10.77.0.1, vport: '80', protocol: tcp, datapath: kernel, backends: [{ip: 10.77.0.2, port: 80}]}
`

var keyLine = regexp.MustCompile(`(?m)^ {0,2}([A-Za-z0-9_-]{20,})$`)

func TestPackage(t *testing.T) {
	t.Parallel()
	dir := debs(t, "1.0", "2.0")
	for name, shows := range map[string]func(*testing.T, string){
		"lives as Debian says it should": packageLives, "is installed where no systemd runs": packageWithoutSystemd, "is in order": packageInOrder,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); shows(t, dir) })
	}
}

func packageLives(t *testing.T, dir string) {
	b := boots(t, dir)

	b.must("ln -s /bin/false /usr/local/bin/sluice")
	said := b.must("apt-get install -y --no-install-recommends /pkg/sluice_1.0_*.deb 2>&1")
	if keyLine.MatchString(said) || !strings.Contains(said, "https://127.0.0.1:444/") || !strings.Contains(said, "sudo sluice key create") {
		t.Fatalf("a key, which apt would log, or no address, or no word about keys:\n%s\n%s", said, b.must("journalctl -u sluice --no-pager"))
	}
	if !strings.Contains(said, "hides this package: /usr/local/bin/sluice\n") {
		t.Errorf("the program of another installation is not reported:\n%s", said)
	}
	b.must("rm /usr/local/bin/sluice")
	found := keyLine.FindStringSubmatch(b.must("sluice key create test"))
	if found == nil {
		t.Fatal("no key was made")
	}
	remote := "sluice --url https://127.0.0.1:444 --insecure --key " + found[1] + " "
	b.must(remote + "status")
	if got := b.must("systemctl is-enabled sluice; systemctl show -P Type,StatusText sluice; stat -c %U:%a /var/lib/sluice"); !strings.HasPrefix(got, "enabled") ||
		!strings.Contains(got, "API https://") || !strings.HasSuffix(got, "sluice:700") {
		t.Errorf("the service: %s", got)
	}
	if got := b.must("ps -C sluice-engine,sluice-mgmt,sluice-netd -o comm=,user:20= | sort | tr -s ' '"); !strings.Contains(got, "sluice-engine sluice-engine") || !strings.Contains(got, "sluice-mgmt sluice") {
		t.Errorf("roles and users: %s", got)
	}
	b.must("systemd-analyze verify sluice.service && man -w sluice sluice-farm-create && bash -n /usr/share/bash-completion/completions/sluice && logrotate -d /etc/logrotate.d/sluice")

	b.must("ip link add out type veth peer name in && ip addr add 10.77.0.1/24 dev out && ip link set out up && ip link set in up")
	b.must("cat >/tmp/farms.yaml <<'END'\n" + installedFarms + "END\nsluice apply -f /tmp/farms.yaml")
	intact := func(when string) {
		t.Helper()
		if out, err := b.try("nft", "list", "ruleset"); err != nil || !strings.Contains(out, "10.77.0.1") {
			t.Errorf("%s the farm of the kernel is gone: %v\n%s", when, err, out)
		}
	}
	serves := func(when string) {
		t.Helper()
		within(t, time.Minute, "the farms run "+when, func() error {
			out, err := b.try("sh", "-c", remote+"farm list 2>&1; ss -Hltn 'sport = :8080'")
			if err != nil || !strings.Contains(out, "quick") || !strings.Contains(out, "127.0.0.1:8080") {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		})
		intact(when)
	}
	serves("at first")
	main := func() string { return b.must("systemctl show -P MainPID sluice") }
	back := func(when, before string, look func()) {
		t.Helper()
		within(t, time.Minute, "systemd starts it again "+when, func() error {
			look()
			out, _ := b.try("systemctl", "show", "-P", "ActiveState,SubState,MainPID", "sluice")
			if strings.Contains(out, "running") && !strings.Contains(out, before) {
				return nil
			}
			return errors.New(out)
		})
		serves(when)
	}

	before := main()
	b.must("systemctl reload sluice")
	if got := main(); got != before {
		t.Errorf("a reload made %s of process %s", got, before)
	}
	b.must("kill -9 " + before)
	back("after it was killed", before, func() { intact("while it is away") })
	before = main()
	b.must("kill -TERM " + before)
	back("after somebody ended it", before, func() { intact("while it is away") })

	b.must("mkdir -p /etc/systemd/system/sluice.service.d && printf '[Service]\\nWatchdogSec=2s\\n' >/etc/systemd/system/sluice.service.d/watchdog.conf && systemctl daemon-reload && systemctl restart sluice")
	before = main()
	b.must("kill -STOP " + before)
	back("after it stood still", before, func() { intact("while it is away") })

	b.must("echo SLUICE_LOG=debug >>/etc/default/sluice")
	before = main()
	if said = b.must("apt-get install -y --no-install-recommends /pkg/sluice_2.0_*.deb 2>&1"); keyLine.MatchString(said) {
		t.Errorf("an upgrade made a key:\n%s", said)
	}
	back("after an upgrade", before, func() {})
	b.must("grep -q SLUICE_LOG=debug /etc/default/sluice")

	b.must("apt-get remove -y sluice")
	if out, _ := b.try("sh", "-c", "nft list tables; pgrep -l sluice; ls /usr/bin/sluice 2>&1"); strings.Contains(out, "table") || strings.Contains(out, "sluice-") || !strings.Contains(out, "No such file") {
		t.Errorf("removed, and there is:\n%s", out)
	}
	b.must("grep -q SLUICE_LOG=debug /etc/default/sluice && test -n \"$(ls /var/lib/sluice)\"")
	b.must("apt-get install -y --no-install-recommends /pkg/sluice_2.0_*.deb")
	serves("after it was installed again")

	b.must("systemctl stop sluice && rm -rf /var/lib/sluice && systemctl start sluice")
	if got := b.must("stat -c %U:%a /var/lib/sluice; sluice farm list"); !strings.HasPrefix(got, "sluice:700") || strings.Contains(got, "quick") {
		t.Errorf("state of the first installation is left: %s", got)
	}

	b.must("apt-get purge -y sluice")
	if out, _ := b.try("sh", "-c", "ls -d /var/lib/sluice /etc/default/sluice /etc/logrotate.d/sluice /lib/systemd/system/sluice.service 2>/dev/null"); out != "" {
		t.Errorf("purged, and there is:\n%s", out)
	}
	b.must("getent passwd sluice")
}

func packageWithoutSystemd(t *testing.T, dir string) {
	script := `set -e
mount --make-rprivate /; mount -t tmpfs tmpfs "$1"; mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
rm -f "$1/root/etc/default/sluice" "$1/root/etc/logrotate.d/sluice" # of an installation on this machine
mount -t tmpfs tmpfs "$1/root/run"; mount -t proc proc "$1/root/proc"; mount --bind /dev "$1/root/dev"
cp "$2"/sluice_1.0_*.deb "$1/root/run"
dpkg --root="$1/root" --install "$1"/root/run/*.deb
chroot "$1/root" sh -c 'sluice version; systemctl is-enabled sluice; getent passwd sluice-engine'
dpkg --root="$1/root" --purge sluice
ls -d "$1/root/var/lib/sluice" "$1/root/usr/bin/sluice" 2>&1 || true`
	out, err := exec.Command("unshare", "-m", "sh", "-c", script, "install", t.TempDir(), dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"starts at the next boot", "\nenabled\n", "sluice-engine:", "root/var/lib/sluice': No such file", "root/usr/bin/sluice': No such file"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
}

// packageInOrder makes the most important checks of lintian.
func packageInOrder(t *testing.T, dir string) {
	deb := one(t, dir, "sluice_1.0_*.deb")
	list, err := exec.Command("dpkg-deb", "--contents", deb).Output()
	if err != nil {
		t.Fatal(err)
	}
	manuals := 0
	for line := range strings.Lines(string(list)) {
		f := strings.Fields(line)
		mode, owner, name := f[0], f[1], f[5]
		if owner != "root/root" || mode[5] == 'w' || mode[8] == 'w' || mode[7] != 'r' {
			t.Errorf("owner or mode: %s", line)
		}
		if executable := mode[3] == 'x' && mode[0] == '-'; executable != (name == "./usr/bin/sluice") {
			t.Errorf("wrong execute permission: %s", line)
		}
		if strings.HasPrefix(name, "./usr/local") || strings.HasPrefix(name, "./var") {
			t.Errorf("not a package's place: %s", line)
		}
		if strings.HasSuffix(name, ".8.gz") {
			manuals++
		}
	}
	if manuals < 50 {
		t.Errorf("%d manual pages", manuals)
	}
	for _, name := range []string{"usr/lib/systemd/system/sluice.service", "usr/lib/sysusers.d/sluice.conf", "usr/lib/tmpfiles.d/sluice.conf", "etc/logrotate.d/sluice",
		"usr/share/bash-completion/completions/sluice", "usr/share/zsh/vendor-completions/_sluice", "usr/share/fish/vendor_completions.d/sluice.fish",
		"usr/share/man/man5/sluice.yaml.5.gz", "usr/share/doc/sluice/copyright", "usr/share/doc/sluice/LICENCES.gz", "usr/share/doc/sluice/changelog.gz", "usr/share/doc/sluice/CHANGELOG.md.gz"} {
		if !strings.Contains(string(list), " ./"+name+"\n") {
			t.Errorf("%s is missing", name)
		}
	}
	if out, err := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning", deb).CombinedOutput(); err != nil {
		t.Errorf("lintian: %v\n%s", err, out)
	}
	control := t.TempDir()
	if out, err := exec.Command("dpkg-deb", "--control", deb, control).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if b, err := os.ReadFile(filepath.Join(control, "conffiles")); err != nil || string(b) != "/etc/default/sluice\n/etc/logrotate.d/sluice\n" {
		t.Errorf("conffiles %q, %v", b, err)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(control, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
}
