package e2e_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// attacks are tried by an operator's program; each prints its number if it succeeds. DATA,
// MGMT and ENGINE are replaced.
var attacks = []string{
	`cat DATA/node.key`, `cat DATA/api.pem`, `cat DATA/store.db`, `ls DATA`, `cat DATA/hooks/on-farm-start.attack`,
	`cat /proc/MGMT/cwd/node.key`, `cat /proc/MGMT/environ`, `cat /proc/MGMT/mem`, `cat /proc/MGMT/fd/*`, `kill -0 MGMT`, `kill -0 ENGINE`,
	`echo x > /tmp/sluice-e2e-attack`, `echo x > DATA/hooks/on-any`, `ls ~/../`,
	`perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 1; connect(S, pack_sockaddr_un("DATA/mgmt.sock")) or exit 1'`,
	`perl -MSocket -e 'socket(S, AF_INET, SOCK_RAW, 1) or exit 1'`, `perl -MSocket -e 'socket(S, 17, SOCK_RAW, 3) or exit 1'`,
	`perl -e 'exit(syscall(101, 16, MGMT, 0, 0) < 0)'`, `unshare -U true`, `sudo -n true`, `su -c true nobody`,
}

// hook puts a program into the hooks folder, like an operator.
func (a *appliance) hook(name, script string) {
	a.t.Helper()
	path := filepath.Join(a.data, "hooks", name)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		a.t.Fatal(err)
	}
	owner, err := os.Stat(a.data)
	if err != nil {
		a.t.Fatal(err)
	}
	st := owner.Sys().(*syscall.Stat_t)
	if err := os.Chown(path, int(st.Uid), int(st.Gid)); err != nil {
		a.t.Fatal(err)
	}
}

// hookRan waits for the end of a script and returns its log line.
func (a *appliance) hookRan(script string) string {
	a.t.Helper()
	ended := regexp.MustCompile(`msg="script (ran|failed)".*script=` + script + ` .*`)
	var line string
	within(a.t, 90*time.Second, script+" has ended", func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if line = ended.FindString(a.log.String()); line == "" {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	return line
}

// called reports whether some process has these words in its command line.
func called(words string) bool {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(strings.ReplaceAll(string(b), "\x00", " "), words) {
			return true
		}
	}
	return false
}

func TestOperatorProgramIsIsolated(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		if protection := a.must("status"); !strings.Contains(protection, "landlock") {
			t.Skip("needs a kernel with Landlock")
		}
		var script strings.Builder
		script.WriteString("#!/bin/bash\n")
		for i, attack := range attacks {
			attack = strings.NewReplacer("DATA", a.data, "MGMT", strconv.Itoa(a.pid("mgmt")), "ENGINE", strconv.Itoa(a.pid("engine"))).Replace(attack)
			fmt.Fprintf(&script, "( %s ) >/dev/null 2>&1 </dev/null && echo -n ' %d'\n", attack, i)
		}
		script.WriteString("echo -n done\n")
		a.hook("on-farm-start.attack", script.String())
		a.farm("shop", backend(t, "one"))
		out := regexp.MustCompile(`output="?([^"]*)`).FindStringSubmatch(a.hookRan("on-farm-start.attack"))
		if out == nil || !strings.HasSuffix(out[1], "done") {
			t.Fatalf("it printed %q", out)
		}
		for worked := range strings.FieldsSeq(strings.TrimSuffix(out[1], "done")) {
			if i, err := strconv.Atoi(worked); err == nil {
				t.Errorf("%s worked", attacks[i])
			}
		}
	})
}

// A program that would exhaust the machine is ended with all its children. It starts at most
// 300 processes, even if the sandbox fails.
func TestOperatorProgramIsLimited(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := startIn(t, who, dataDir(t, who), surroundings{shell: "ulimit -S -u 3000 2>/dev/null"})
		hidden := fmt.Sprintf("sleep 98%d", os.Getpid())
		for name, script := range map[string]string{
			"on-farm-start.processes": "for i in $(seq 300); do setsid " + hidden + "1 >/dev/null 2>&1 </dev/null & done; wait",
			"on-farm-start.memory":    "x=$(head -c 400000000 /dev/zero | tr '\\0' x); y=$x$x; " + hidden + "2",
			"on-farm-start.disk":      "for fd in 3 4 5 6 7 8; do eval \"exec $fd>$TMPDIR/x\"; rm $TMPDIR/x; head -c 30000000 /dev/zero >&$fd; done; " + hidden + "3",
			"on-farm-start.late":      "(setsid " + hidden + "4 </dev/null >/dev/null 2>&1 & ) ; " + hidden + "4",
			"on-farm-start.left":      "(setsid " + hidden + "5 </dev/null >/dev/null 2>&1 & ) ; exit 0",
		} {
			a.hook(name, "#!/bin/bash\n"+script+"\n")
		}
		a.farm("shop", backend(t, "one"))
		for name, want := range map[string]string{"processes": "script failed", "memory": "script failed", "disk": "it wrote more than", "late": "not done within 30s", "left": "script ran"} {
			if line := a.hookRan("on-farm-start." + name); !strings.Contains(line, want) {
				t.Errorf("%s: %s, wanted %s", name, line, want)
			}
		}
		within(t, 10*time.Second, "nothing is left", func() error {
			if called(hidden) {
				return fmt.Errorf("a process still runs")
			}
			return nil
		})
		left, _ := filepath.Glob("/tmp/sluice-program-*/x")
		if len(left) > 0 {
			t.Errorf("files are left: %v", left)
		}
		if !strings.Contains(a.must("status"), "progd   running") {
			t.Errorf("progd is gone:\n%s", a.must("status"))
		}
	})
}

// plugin puts a program into the folder of monitoring plugins, deleted after the test.
func plugin(t *testing.T, name, script string) {
	t.Helper()
	const folder = "/usr/lib/nagios/plugins"
	if os.Geteuid() != 0 {
		t.Skip("needs root: it installs a plugin")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
}

func TestAPluginAsksItsServer(t *testing.T) {
	name := fmt.Sprintf("check_e2e_%d", os.Getpid())
	plugin(t, name, "#!/bin/bash\nexec 3<>/dev/tcp/$1/$2 || exit 2\necho \"it answers | x=1;2;3\"\necho more\n[ -w \"$TMPDIR\" ] && [ \"$HOME\" = \"$TMPDIR\" ] && [ \"$SLUICE_PORT\" = $2 ]\n")
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		a.must("check", "create", "own", "command="+name+" HOST PORT")
		if out, code := a.run("check", "run", "own", "127.0.0.1", port); code != 0 || !strings.Contains(out, "it answers | x=1;2;3") {
			t.Errorf("%d %s", code, out)
		}
		_ = l.Close()
		if out, code := a.run("check", "run", "own", "127.0.0.1", port); code == 0 || !strings.Contains(out, "ended with 2") {
			t.Errorf("%d %s", code, out)
		}
	})
}

// The operator's own plugins are in the data directory and in backups. A restore brings them
// back if the command runs on the machine itself.
func TestPluginsOfTheOperatorAreInBackups(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		a.hook("../plugins/check_own", "#!/bin/sh\n. ./lib.sh\n")
		a.hook("../plugins/lib.sh", "#!/bin/sh\necho its library\n")
		port := strings.TrimPrefix(backend(t, "one"), "127.0.0.1:")
		a.must("check", "create", "own", "command=check_own")
		runs := func() {
			t.Helper()
			if out := a.must("check", "run", "own", "127.0.0.1", port); !strings.Contains(out, "its library") {
				t.Errorf("%s", out)
			}
		}
		runs()
		a.must("backup", "create", "with")
		for _, name := range []string{"check_own", "lib.sh"} {
			if err := os.Remove(filepath.Join(a.data, "plugins", name)); err != nil {
				t.Fatal(err)
			}
		}
		a.must("backup", "apply", "with")
		within(t, 30*time.Second, "they are back", func() error {
			if out, code := a.run("check", "run", "own", "127.0.0.1", port); code != 0 {
				return fmt.Errorf("%s", out)
			}
			return nil
		})
		runs()
	})
}

// Perl, Python and Debian's plugins run as before.
func TestPluginsOfDebianRun(t *testing.T) {
	if _, err := os.Stat("/usr/lib/nagios/plugins/check_dummy"); err != nil {
		t.Skip("needs the monitoring plugins of Debian")
	}
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		port := strings.TrimPrefix(backend(t, "one"), "127.0.0.1:")
		for command, want := range map[string]string{
			"check_dummy 0 well":              "OK: well",
			"check_ssh -p PORT HOST":          "",
			"check_ifstatus -h":               "check_ifstatus",
			"check_rpc -h":                    "check_rpc",
			"check_procs -w 100000":           "PROCS OK",
			"check_hpjd -H HOST -p PORT -t 1": "",
		} {
			a.must("check", "create", "own", "command="+command)
			out, _ := a.run("check", "run", "own", "127.0.0.1", port)
			if !strings.Contains(out, want) || strings.Contains(out, "not asked") {
				t.Errorf("%s: %s", command, out)
			}
			a.must("check", "delete", "own")
		}
	})
}

// A progd that dies is replaced, and a check in progress has an unknown result.
func TestProgdCrashTakesNoBackendDown(t *testing.T) {
	name := fmt.Sprintf("check_e2e_%d", os.Getpid())
	hidden := fmt.Sprintf("sleep 97%d", os.Getpid())
	plugin(t, name, "#!/bin/bash\n(setsid "+hidden+" </dev/null >/dev/null 2>&1 &)\nsleep 300\n")
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		a.must("check", "create", "own", "command="+name, "timeout=60")
		cmd := a.command("--data", a.data, "check", "run", "own", "127.0.0.1", "80")
		done := make(chan string, 1)
		go func() { out, _ := cmd.CombinedOutput(); done <- string(out) }()
		within(t, 20*time.Second, "it runs", func() error {
			if !called(hidden) {
				return fmt.Errorf("not yet")
			}
			return nil
		})
		old := a.kill("progd")
		select {
		case out := <-done:
			if !strings.Contains(out, "not asked") {
				t.Errorf("%s", out)
			}
		case <-time.After(30 * time.Second):
			t.Error("the check waits")
		}
		within(t, 20*time.Second, "another progd has ended what the first left", func() error {
			if a.pid("progd") == old || called(hidden) {
				return fmt.Errorf("not yet")
			}
			return nil
		})
	})
}

// mgmt has no child processes, so that a compromised mgmt cannot start any.
func TestMgmtHasNoChildren(t *testing.T) {
	who := asOne()
	a := start(t, who, dataDir(t, who))
	a.hook("on-farm-start.x", "#!/bin/sh\necho $PPID\n")
	a.farm("shop", backend(t, "one"))
	if line := a.hookRan("on-farm-start.x"); !strings.Contains(line, fmt.Sprintf("output=%d", a.pid("progd"))) {
		t.Errorf("the hook has another parent: %s", line)
	}
	if out, err := exec.Command("cat", fmt.Sprintf("/proc/%d/task/%d/children", a.pid("mgmt"), a.pid("mgmt"))).Output(); err == nil && len(strings.TrimSpace(string(out))) > 0 {
		t.Errorf("mgmt has children: %s", out)
	}
}
