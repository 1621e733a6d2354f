package settings_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// box is a Machine in a temporary folder that records the programs it runs.
type box struct {
	settings.Machine
	t    *testing.T
	ran  []string
	fail map[string]string // output of a failing program, by the beginning of its command line
	says map[string]string
}

func newBox(t *testing.T, files map[string]string) *box {
	t.Helper()
	b := &box{t: t, fail: map[string]string{}, says: map[string]string{}}
	b.Root, b.Group, b.Run = t.TempDir(), 61741, b.runs
	for name, content := range files {
		b.write(name, content)
	}
	return b
}

func (b *box) runs(_ context.Context, program string, args ...string) (string, error) {
	call := strings.ReplaceAll(program+" "+strings.Join(args, " "), b.Root, "")
	b.ran = append(b.ran, call)
	for begin, said := range b.fail {
		if strings.HasPrefix(call, begin) {
			return said, errors.New("exit status 255")
		}
	}
	for begin, said := range b.says {
		if strings.HasPrefix(call, begin) {
			return said, nil
		}
	}
	return "", nil
}

func (b *box) path(name string) string { return filepath.Join(b.Root, name) }

// write makes a file. A name that ends with a slash makes a folder, and content "-> x" a
// link to x.
func (b *box) write(name, content string) {
	b.t.Helper()
	path := b.path(name)
	folder := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		folder = path
	}
	err := os.MkdirAll(folder, 0o755)
	if to, link := strings.CutPrefix(content, "-> "); err == nil && link {
		err = os.Symlink(to, path)
	} else if err == nil && folder != path {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// read returns the content of a file, or "" if it does not exist.
func (b *box) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return string(text)
}

// do applies a request and returns its problem and the programs it ran.
func (b *box) do(q settings.Request) (problem string, ran []string) {
	b.t.Helper()
	b.ran = nil
	problem = b.Do(b.t.Context(), q).Problem
	left, _ := filepath.Glob(b.path("etc/*/*/*.sluice-*"))
	more, _ := filepath.Glob(b.path("etc/*.sluice-*"))
	if left = append(left, more...); len(left) > 0 {
		b.t.Errorf("left behind: %q", left)
	}
	return problem, b.ran
}

// wants checks that a request yields the problem, or a problem that starts with it, and
// the programs.
func (b *box) wants(q settings.Request, problem string, ran ...string) {
	b.t.Helper()
	got, calls := b.do(q)
	if problem == "" && got != "" || !strings.HasPrefix(got, problem) || !slices.Equal(calls, ran) {
		b.t.Errorf("problem %q, ran %q\nwant    %q, ran %q", got, calls, problem, ran)
	}
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func dns(primary, secondary string) settings.Request {
	q := settings.Request{Kind: settings.DNS}
	if primary != "" {
		q.DNS.Primary = addr(primary)
	}
	if secondary != "" {
		q.DNS.Secondary = addr(secondary)
	}
	return q
}

const resolv, kept = "/etc/resolv.conf", "/etc/resolv.conf.before-sluice"

func TestNameServersReplaceAndRestoreTheSystems(t *testing.T) {
	const own = "# mine\nnameserver 192.0.2.1\nsearch example.org\n options\ttimeout:1\n"
	b := newBox(t, map[string]string{resolv: own})
	b.wants(dns("192.0.2.53", "2001:db8::53"), "")
	got := b.read(resolv)
	if _, rest, _ := strings.Cut(got, "setting.\n"); rest != "nameserver 192.0.2.53\nnameserver 2001:db8::53\nsearch example.org\noptions\ttimeout:1\n" || b.read(kept) != own {
		t.Errorf("it is now\n%s\nkept\n%s", got, b.read(kept))
	}
	b.wants(dns("", "192.0.2.54"), "")
	if got := b.read(resolv); !strings.Contains(got, "\nnameserver 192.0.2.54\nsearch example.org\n") || strings.Contains(got, "192.0.2.53") || b.read(kept) != own {
		t.Errorf("set again it is\n%s\nkept\n%s", got, b.read(kept))
	}
	b.wants(dns("", ""), "")
	if b.read(resolv) != own || b.read(kept) != "" {
		t.Errorf("after the reset:\n%s\n%s", b.read(resolv), b.read(kept))
	}
	b.wants(dns("", ""), "")
	if b.read(resolv) != own {
		t.Error("an unset setting changed the file")
	}
}

func TestMissingNameServersAreRestored(t *testing.T) {
	b := newBox(t, map[string]string{"/etc/": ""})
	b.wants(dns("192.0.2.53", ""), "")
	b.wants(dns("192.0.2.54", ""), "")
	if got := b.read(resolv); !strings.Contains(got, "nameserver 192.0.2.54\n") {
		t.Error(got)
	}
	b.wants(dns("", ""), "")
	if _, err := os.Lstat(b.path(resolv)); !errors.Is(err, os.ErrNotExist) {
		t.Error("there is one")
	}
}

// A file that another program wrote meanwhile goes into the backup and survives the
// removal of the setting.
func TestForeignChangesBecomeTheBackup(t *testing.T) {
	b := newBox(t, map[string]string{resolv: "nameserver 192.0.2.1\n"})
	b.wants(dns("192.0.2.53", ""), "")
	const lease = "nameserver 192.0.2.2\n"
	b.write(resolv, lease)
	b.wants(dns("192.0.2.53", ""), "")
	if b.read(kept) != lease {
		t.Errorf("kept is %s", b.read(kept))
	}
	b.write(resolv, lease)
	b.wants(dns("", ""), "")
	if b.read(resolv) != lease || b.read(kept) != "" {
		t.Errorf("%s, kept %s", b.read(resolv), b.read(kept))
	}
}

func TestManagerOfNameServersIsNamed(t *testing.T) {
	for target, want := range map[string]string{
		"../run/systemd/resolve/stub-resolv.conf": "the name servers of this machine are managed by systemd-resolved: set DNS=",
		"/run/resolvconf/resolv.conf":             "the name servers of this machine are managed by resolvconf: ",
		"/run/NetworkManager/resolv.conf":         "the name servers of this machine are managed by NetworkManager: ",
		"/somewhere":                              "the name servers of this machine are managed by the program behind /somewhere: ",
	} {
		b := newBox(t, map[string]string{resolv: "-> " + target})
		b.wants(dns("192.0.2.53", ""), want)
		if now, err := os.Readlink(b.path(resolv)); err != nil || now != target {
			t.Errorf("the link became %s, %v, want %s", now, err, target)
		}
		b.wants(dns("", ""), "")
	}
}

func TestFolderInPlaceOfAFileIsKept(t *testing.T) {
	b := newBox(t, map[string]string{"/etc/resolv.conf/": ""})
	if problem, _ := b.do(dns("192.0.2.53", "")); problem == "" {
		t.Error("it was replaced")
	}
}

func TestUnwritableFileIsExplained(t *testing.T) {
	b := newBox(t, nil) // without a folder /etc
	if problem, _ := b.do(dns("192.0.2.53", "")); !strings.Contains(problem, "no such file or directory") {
		t.Error(problem)
	}
}

func ntp(server string) settings.Request {
	return settings.Request{Kind: settings.NTP, NTP: farm.NTP{Server: server}}
}

const (
	sources, timesync = "/etc/chrony/sources.d/sluice.sources", "/etc/systemd/timesyncd.conf.d/sluice.conf"
	booted            = "/run/systemd/system/"
)

func TestTimeServiceIsConfigured(t *testing.T) {
	b := newBox(t, map[string]string{"/etc/": ""})
	b.wants(ntp("ntp.example"), "nothing here keeps the time that Sluice can set")
	b.wants(ntp(""), "")

	b = newBox(t, map[string]string{"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": "", booted: "", "/lib/systemd/system/chrony.service": "", "/lib/systemd/systemd-timesyncd": "", timesync: "old"})
	const restart = "systemctl --no-ask-password try-restart chrony.service"
	b.wants(ntp("ntp.example"), "", restart)
	if !strings.HasSuffix(b.read(sources), "\nserver ntp.example iburst prefer\n") || b.read(timesync) != "" {
		t.Errorf("%s\n%s", b.read(sources), b.read(timesync))
	}
	b.wants(ntp("ntp.example"), "")
	b.fail["systemctl"] = "no such unit"
	b.wants(ntp("192.0.2.1"), "chronyd was not told of it: systemctl try-restart chrony.service: exit status 255: no such unit", restart)
	delete(b.fail, "systemctl")
	b.wants(ntp(""), "", restart)
	if b.read(sources) != "" {
		t.Error(b.read(sources))
	}

	b = newBox(t, map[string]string{"/lib/systemd/systemd-timesyncd": "", booted: "", "/usr/lib/systemd/system/systemd-timesyncd.service": ""})
	b.wants(ntp("ntp.example"), "", "systemctl --no-ask-password try-restart systemd-timesyncd.service")
	if !strings.HasSuffix(b.read(timesync), "\n[Time]\nNTP=\nNTP=ntp.example\n") {
		t.Error(b.read(timesync))
	}
	b.wants(ntp("ntp.example"), "")
	b.wants(ntp(""), "", "systemctl --no-ask-password try-restart systemd-timesyncd.service")
	if b.read(timesync) != "" {
		t.Error(b.read(timesync))
	}
}

func TestMissingSystemdIsReported(t *testing.T) {
	b := newBox(t, map[string]string{"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": ""})
	b.wants(ntp("ntp.example"), "chronyd was not told of it: this machine has no systemd to ask; it reads its settings when it is started again")
	b = newBox(t, map[string]string{"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": "", booted: ""})
	b.wants(ntp("ntp.example"), "chronyd was not told of it: systemd has no unit chrony.service or chronyd.service")
}

func ssh(port uint16, listen ...string) settings.Request {
	q := settings.Request{Kind: settings.SSH, SSH: farm.SSH{Port: port}}
	for _, text := range listen {
		q.SSH.Listen = append(q.SSH.Listen, addr(text))
	}
	return q
}

const dropIn = "/etc/ssh/sshd_config.d/sluice.conf"

func TestSSHSettingsAreTestedFirst(t *testing.T) {
	b := newBox(t, map[string]string{"/usr/sbin/sshd": "", "/etc/ssh/sshd_config.d/": "", booted: "", "/lib/systemd/system/ssh.service": ""})
	const try, look, reload = "sshd -t -f " + dropIn + ".sluice-try", "sshd -T -f /etc/ssh/sshd_config", "systemctl --no-ask-password try-reload-or-restart ssh.service"
	b.says[look] = "port 2222 addressfamily any"
	b.wants(ssh(2222, "192.0.2.1", "::"), "", try, look, reload)
	if !strings.HasSuffix(b.read(dropIn), "\nPort 2222\nListenAddress 192.0.2.1\nListenAddress 0.0.0.0\nListenAddress ::\n") {
		t.Error(b.read(dropIn))
	}
	b.wants(ssh(2222, "192.0.2.1", "::"), "", try, look)
	before := b.read(dropIn)
	b.fail["sshd -t"] = "line 3: Bad configuration option"
	b.wants(ssh(22), "sshd does not take it, nothing was changed: exit status 255: line 3: Bad", try)
	if b.read(dropIn) != before {
		t.Error("it was changed")
	}
	delete(b.fail, "sshd -t")
	b.says[look] = "port 22 x"
	b.wants(ssh(2223), "sshd does not read "+dropIn+": write Include", try, look)
	b.says[look] = "port 2224 port 22 x"
	b.wants(ssh(2224), "sshd listens on port 2224 and 22: other files", try, look)
	b.wants(ssh(0), "", reload)
	b.wants(ssh(0), "")
	if b.read(dropIn) != "" {
		t.Error(b.read(dropIn))
	}
	b.write("/etc/systemd/system/sockets.target.wants/ssh.socket", "")
	b.says[look] = "port 2222 x"
	b.wants(ssh(2222), "systemd listens for sshd here (ssh.socket)", try, look)
}

func TestMissingSSHDIsReported(t *testing.T) {
	b := newBox(t, map[string]string{"/etc/ssh/": ""})
	b.wants(ssh(22), "no sshd is installed that reads /etc/ssh/sshd_config.d")
	b.wants(ssh(0), "")
}

func snmp(community string) settings.Request {
	return settings.Request{Kind: settings.SNMP, SNMP: settings.SNMPAgent{On: true, IP: addr("192.0.2.1"), Port: 1161, Community: community, Scope: netip.MustParsePrefix("10.0.0.0/8")}}
}

func TestSNMPSettingsAreWrittenForSnmpd(t *testing.T) {
	const file, restart = "/etc/snmp/snmpd.conf.d/sluice.conf", "systemctl --no-ask-password restart snmpd.service"
	b := newBox(t, map[string]string{"/usr/sbin/snmpd": "", "/etc/snmp/snmpd.conf": "includeDir /etc/snmp/snmpd.conf.d\n", booted: "", "/lib/systemd/system/snmpd.service": ""})
	b.wants(snmp("letmein"), "", restart)
	_, got, _ := strings.Cut(strings.ReplaceAll(b.read(file), b.Root, ""), "\n")
	if got != "agentaddress udp:192.0.2.1:1161\nrocommunity letmein 10.0.0.0/8\nmaster agentx\nagentXSocket /run/agentx/sluice\nagentXPerms 0660 0755 root 61741\n" {
		t.Error(got)
	}
	if info, err := os.Stat(b.path(file)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users may read the community: %v %v", info, err)
	}
	b.wants(snmp("letmein"), "")
	q := snmp("x")
	q.SNMP.IP, q.SNMP.Scope = addr("::"), netip.MustParsePrefix("::/0")
	b.wants(q, "", restart)
	if got := b.read(file); !strings.Contains(got, "agentaddress udp6:[::]:1161\nrocommunity6 x default\n") {
		t.Error(got)
	}
	b.write("/etc/snmp/snmpd.conf", "#rocommunity a\nrocommunity public default -V systemonly\nincludeDir /etc/snmp/snmpd.conf.d\nrouser authPrivUser\n")
	b.wants(snmp("letmein"), "/etc/snmp/snmpd.conf lets others in as well, whatever community and scope are set here: remove line 2 (rocommunity), line 4 (rouser)", restart)
	b.write("/etc/snmp/snmpd.conf", "rocommunity public\n")
	b.wants(snmp("letmein"), "snmpd does not read it: write includeDir /etc/snmp/snmpd.conf.d into /etc/snmp/snmpd.conf")
	b.wants(settings.Request{Kind: settings.SNMP}, "", restart)
	b.wants(settings.Request{Kind: settings.SNMP}, "")
	b = newBox(t, map[string]string{"/etc/snmp/": ""})
	b.wants(snmp("letmein"), "snmpd is not installed")
	b.wants(settings.Request{Kind: settings.SNMP}, "")
}

// A failed reload is repeated later, although the settings do not change.
func TestFailedReloadIsRepeated(t *testing.T) {
	b := newBox(t, map[string]string{
		"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": "", "/lib/systemd/system/chrony.service": "", "/usr/sbin/sshd": "", "/etc/ssh/sshd_config.d/": "",
		"/lib/systemd/system/ssh.service": "", "/usr/sbin/snmpd": "", "/etc/snmp/snmpd.conf": "includeDir /etc/snmp/snmpd.conf.d\n", "/lib/systemd/system/snmpd.service": "", booted: "",
	})
	b.says["sshd -T"] = "port 22 x"
	for _, q := range []settings.Request{ntp("a"), ssh(22), snmp("a")} {
		b.fail["systemctl"] = "busy"
		if a := b.Do(t.Context(), q); !a.Untold || !strings.Contains(a.Problem, "busy") {
			t.Errorf("%s: %+v", q.Kind, a)
		}
		delete(b.fail, "systemctl")
		if _, ran := b.do(q); slices.ContainsFunc(ran, func(call string) bool { return strings.HasPrefix(call, "systemctl") }) {
			t.Errorf("%s: %q", q.Kind, ran)
		}
		q.Again = true
		if problem, ran := b.do(q); problem != "" || !slices.ContainsFunc(ran, func(call string) bool { return strings.HasPrefix(call, "systemctl") }) {
			t.Errorf("%s again: %s %q", q.Kind, problem, ran)
		}
	}
	if a := b.Do(t.Context(), settings.Request{Kind: "sudo"}); a.Untold {
		t.Error("any problem is one of telling")
	}
}

func TestUnknownRequestKindIsRefused(t *testing.T) {
	newBox(t, nil).wants(settings.Request{Kind: "sudo"}, "this is no request")
}
