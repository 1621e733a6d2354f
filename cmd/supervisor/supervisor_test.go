package supervisor_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/harden"
	"github.com/sluicelb/sluice/cmd/inherit"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/cmd/supervisor/line"
)

// This test binary is also the supervisor under test (if SUPERVISE is set) and, by its first
// argument, every role: one that only reports about itself.
func TestMain(m *testing.M) {
	if name, ok := strings.CutPrefix(os.Args[0], "sluice: "); ok {
		fakeRole(name)
		return
	}
	if os.Getenv("SUPERVISE") != "" {
		supervise()
		return
	}
	os.Exit(m.Run())
}

func supervise() {
	err := supervisor.Run(context.Background(), supervisor.Options{
		Data:   os.Getenv("SUPERVISE"),
		API:    os.Getenv("SUPERVISE_API"),
		Config: os.Getenv("SUPERVISE_CONFIG"),
		Grace:  500 * time.Millisecond,
		Log:    supervisor.Logger("supervisor"),
		Ready:  func(i supervisor.Instance) { fmt.Printf("ready %s %s\n", i.API, i.Socket) },
	})
	supervisor.FlushLog()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// life is a fake role's report on the supervisor's stderr.
type life struct {
	Role   string
	PID    int
	UID    int
	Names  []string
	Env    []string // variable names
	First  bool
	Config string
	Asked  string // result of requesting the state of the roles
}

func fakeRole(name string) {
	set, err := inherit.FromEnv()
	if err != nil {
		os.Exit(3)
	}
	conn, err := set.UnixConn("supervisor")
	if err != nil {
		os.Exit(4)
	}
	chatterOnSignal()
	l := line.Answer(conn)
	say := life{Role: name, PID: os.Getpid(), UID: os.Geteuid(), Names: set.Names(), First: os.Getenv(supervisor.FirstVariable) != ""}
	for _, variable := range os.Environ() {
		key, _, _ := strings.Cut(variable, "=")
		say.Env = append(say.Env, key)
	}
	slices.Sort(say.Env)
	if name == "mgmt" {
		_, content, err := l.Config(context.Background())
		say.Config = string(content)
		if err != nil {
			say.Config = err.Error()
		}
		if say.Config == "stubborn" {
			signal.Ignore(syscall.SIGTERM)
		}
		dir, err := set.File("data")
		if err != nil || dir.Chdir() != nil || os.WriteFile("written", nil, 0o600) != nil {
			os.Exit(5)
		}
	}
	if name == "engine" {
		if err := fakeEngine(set); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(6)
		}
	}
	_ = l.Ready(harden.Status{UID: os.Geteuid()})
	if name != "mgmt" {
		_ = l.Ready(harden.Status{UID: forgedUID})
		say.Config, say.Asked = overstep(l) // the answer proves that both reports were read
	}
	tell(say)
	for {
		select {
		case <-l.Gone():
			os.Exit(0)
		case <-l.Reload():
			_, content, _ := l.Config(context.Background())
			say.Config = "reloaded " + string(content)
			roles, err := l.Roles(context.Background())
			say.Asked = fmt.Sprint(roles, err)
			tell(say)
		}
	}
}

// forgedUID is the claim of a role in a second report.
const forgedUID = 4242

// overstep asks questions reserved for mgmt and returns the results.
func overstep(l *line.Line) (config, roles string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, content, err := l.Config(ctx)
	config = string(content)
	if err != nil {
		config = err.Error()
	}
	list, err := l.Roles(ctx)
	if roles = fmt.Sprint(list); err != nil {
		roles = err.Error()
	}
	return config, roles
}

func tell(l life) {
	b, _ := json.Marshal(l)
	fmt.Fprintf(os.Stderr, "life %s\n", b)
}

// instance is a supervisor under test.
type instance struct {
	t      *testing.T
	cmd    *exec.Cmd
	ready  chan string
	lives  chan life
	log    *bytes.Buffer
	exited chan error
	reads  sync.Mutex // held to stop reading its log
}

// patience bounds waits; a busy machine delays the detection of a hang.
const patience = time.Minute

func start(t *testing.T, data string, env ...string) *instance {
	t.Helper()
	i := &instance{t: t, ready: make(chan string, 1), lives: make(chan life, 100), log: &bytes.Buffer{}, exited: make(chan error, 1)}
	i.cmd = exec.Command("/proc/self/exe")
	i.cmd.Env = append(os.Environ(), append([]string{"SUPERVISE=" + data, "SUPERVISE_API=127.0.0.1:0"}, env...)...)
	stdout, err := i.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := i.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := i.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		i.ready <- line
	}()
	go func() {
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			i.mayRead()
			text, isLife := strings.CutPrefix(sc.Text(), "life ")
			var l life
			if isLife && json.Unmarshal([]byte(text), &l) == nil {
				i.lives <- l
				continue
			}
			i.log.WriteString(sc.Text() + "\n")
		}
		i.exited <- i.cmd.Wait()
	}()
	t.Cleanup(func() { _ = i.cmd.Process.Kill() })
	return i
}

// mayRead waits while reading the log is stopped.
func (i *instance) mayRead() {
	i.reads.Lock()
	defer i.reads.Unlock()
}

func (i *instance) waitReady() (api, socket string) {
	i.t.Helper()
	select {
	case text := <-i.ready:
		fields := strings.Fields(text)
		if len(fields) == 3 {
			return fields[1], fields[2]
		}
	case <-time.After(patience):
	}
	i.t.Fatalf("not ready; log:\n%s", i.end())
	return "", ""
}

// next returns the next life of a role.
func (i *instance) next(role string) life {
	i.t.Helper()
	for limit := time.After(patience); ; {
		select {
		case l := <-i.lives:
			if l.Role == role {
				return l
			}
		case <-limit:
			i.t.Fatalf("%s did not live; log:\n%s", role, i.end())
		}
	}
}

func (i *instance) stop(sig syscall.Signal) error {
	i.t.Helper()
	_ = i.cmd.Process.Signal(sig)
	select {
	case err := <-i.exited:
		return err
	case <-time.After(patience):
		i.t.Fatalf("did not stop; log:\n%s", i.end())
		return nil
	}
}

// end kills the supervisor and returns its log.
func (i *instance) end() string {
	_ = i.cmd.Process.Kill()
	select {
	case <-i.exited:
	case <-time.After(5 * time.Second):
	}
	return i.log.String()
}

// firstLives collects the first life of each role.
func (i *instance) firstLives() map[string]life {
	all := map[string]life{}
	for len(all) < 4 {
		select {
		case l := <-i.lives:
			all[l.Role] = l
		case <-time.After(patience):
			i.t.Fatalf("got only %v; log:\n%s", all, i.end())
		}
	}
	return all
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestRolesGetOnlyNeededDescriptors(t *testing.T) {
	data := t.TempDir()
	i := start(t, data, "LANG=C", "LD_PRELOAD=", "TOKEN=secret")
	want := map[string]string{
		"engine": "control health log logs marks page records sessions stats supervisor tickets wake",
		"mgmt":   "api data health kinds local log logs-engine logs-netd logs-progd logs-supervisor page programs records stats stdout supervisor wake",
		"netd":   "health journal kinds log logs marks netd supervisor",
		"progd":  "log logs programs supervisor",
	}
	if os.Geteuid() == 0 {
		want["progd"] += " users" // it alone has them
	}
	lives := i.firstLives()
	for role, names := range want {
		if got := strings.Join(lives[role].Names, " "); got != names {
			t.Errorf("%s got %q, want %q", role, got, names)
		}
		has := func(variable string) bool { return slices.Contains(lives[role].Env, variable) }
		if !has("LANG") || has("LD_PRELOAD") || has("TOKEN") || has("SUPERVISE") {
			t.Errorf("%s has the variables %q: want LANG, and no others", role, lives[role].Env)
		}
		if group, err := syscall.Getpgid(lives[role].PID); err != nil || group != lives[role].PID {
			t.Errorf("%s is of the process group %d, %v: Ctrl-C would end it before the supervisor does", role, group, err)
		}
	}
	if st, err := os.Stat(data); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the data directory: %v, mode %v: want access for its owner only", err, st.Mode())
	}
	if os.Geteuid() == 0 {
		uids := []int{lives["engine"].UID, lives["mgmt"].UID, lives["netd"].UID}
		slices.Sort(uids)
		if uids[0] != 0 || uids[1] == 0 || uids[1] == uids[2] || lives["netd"].UID != 0 || lives["progd"].UID != 0 {
			t.Errorf("uids %v: want root for netd and progd, and different users for the others", lives)
		}
	} else {
		t.Log("not shown: only root can give the roles different users")
	}
	i.waitReady()
	if err := i.stop(syscall.SIGTERM); err != nil {
		t.Errorf("stopped with %v", err)
	}
}

func TestStopRemovesSocketsAndLeavesNoProcess(t *testing.T) {
	data := t.TempDir()
	i := start(t, data)
	lives := i.firstLives()
	_, socket := i.waitReady()
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := i.stop(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	for _, l := range lives {
		if alive(l.PID) {
			t.Errorf("%s is still there", l.Role)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(data, "*.sock")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	i = start(t, data) // the directory is usable again
	i.waitReady()
	_ = i.stop(syscall.SIGTERM)
}

func TestRepeatedCrashesDelayRestarts(t *testing.T) {
	i := start(t, t.TempDir())
	i.waitReady()
	l := i.next("engine")
	for round := range 3 {
		began := time.Now()
		if err := syscall.Kill(l.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		l = i.next("engine")
		took := time.Since(began)
		if floor := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}[round]; took < floor {
			t.Errorf("restart %d came after %v, want at least %v", round+1, took, floor)
		}
		if l.First {
			t.Error("the first-start variable is set for a role that served before")
		}
	}
	_ = i.stop(syscall.SIGTERM)
}

func TestKilledSupervisorEndsItsRoles(t *testing.T) {
	i := start(t, t.TempDir())
	lives := i.firstLives()
	i.waitReady()
	_ = i.cmd.Process.Kill()
	for _, l := range lives {
		for deadline := time.Now().Add(5 * time.Second); alive(l.PID); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s outlived the supervisor", l.Role)
			}
		}
	}
}

func TestConnectionMadeWhileMgmtIsAwayWaits(t *testing.T) {
	i := start(t, t.TempDir())
	api, socket := i.waitReady()
	_ = syscall.Kill(i.next("mgmt").PID, syscall.SIGKILL)
	for network, addr := range map[string]string{"tcp": api, "unix": socket} {
		c, err := net.DialTimeout(network, addr, time.Second)
		if err != nil {
			t.Errorf("%s: refused while mgmt restarts: %v", network, err)
			continue
		}
		_ = c.Close()
	}
	_ = i.stop(syscall.SIGTERM)
}

func TestMgmtGetsTheConfigFromTheSupervisor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml") // 0700 directory, 0600 file
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := start(t, t.TempDir(), "SUPERVISE_CONFIG="+file)
	if l := i.next("mgmt"); l.Config != "one" || !l.First {
		t.Errorf("mgmt read %q, first %v", l.Config, l.First)
	}
	i.waitReady()
	if err := os.WriteFile(file, []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = i.cmd.Process.Signal(syscall.SIGHUP)
	if l := i.next("mgmt"); l.Config != "reloaded two" {
		t.Errorf("after SIGHUP mgmt read %q, want %q", l.Config, "reloaded two")
	}
	_ = i.stop(syscall.SIGTERM)
}

func TestOnlyMgmtMayQueryTheSupervisor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("password: plain"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := start(t, t.TempDir(), "SUPERVISE_CONFIG="+file)
	lives := i.firstLives()
	i.waitReady()
	for _, role := range []string{"engine", "netd", "progd"} {
		if l := lives[role]; l.Config != line.ErrNotYours.Error() || l.Asked != line.ErrNotYours.Error() {
			t.Errorf("%s got the configuration %q and the roles %q", role, l.Config, l.Asked)
		}
	}
	if got := lives["mgmt"].Config; got != "password: plain" {
		t.Errorf("mgmt got %q, want %q", got, "password: plain")
	}
	if log := i.end(); strings.Count(log, "name=engine message=") != 1 {
		t.Errorf("the log should have one such line:\n%s", log)
	}
}

func TestRoleReportsItsProtectionOnceALife(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := start(t, t.TempDir(), "SUPERVISE_CONFIG="+file)
	lives := i.firstLives()
	i.waitReady()
	if err := syscall.Kill(lives["engine"].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	i.next("engine") // its next life may report again
	_ = i.cmd.Process.Signal(syscall.SIGHUP)
	if l := i.next("mgmt"); !strings.Contains(l.Asked, "engine") || strings.Contains(l.Asked, fmt.Sprint("uid ", forgedUID)) {
		t.Errorf("mgmt got %s", l.Asked)
	}
	log := i.end()
	if n := strings.Count(log, "msg=\"role serves\" role=supervisor name=engine"); n != 2 || strings.Contains(log, fmt.Sprint("uid ", forgedUID)) {
		t.Errorf("%d reports of two lives were accepted:\n%s", n, log)
	}
}

func TestUnendingRoleIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("stubborn"), 0o600); err != nil {
		t.Fatal(err)
	}
	const patience = 1500 * time.Millisecond // the grace period of supervise plus one second
	for _, signals := range []int{1, 2} {
		i := start(t, t.TempDir(), "SUPERVISE_CONFIG="+file)
		i.waitReady()
		began := time.Now()
		if signals == 2 {
			_ = i.cmd.Process.Signal(syscall.SIGINT)
			time.Sleep(100 * time.Millisecond) // two signals at once would count as one
		}
		if err := i.stop(syscall.SIGINT); err != nil {
			t.Errorf("%d signals: %v", signals, err)
		}
		took := time.Since(began)
		if signals == 1 && took < patience {
			t.Errorf("it was killed after %v, before its time was up", took)
		}
		if signals == 2 && took >= patience {
			t.Errorf("a second Ctrl-C took %v", took)
		}
	}
}

func TestStartIsRefusedWithAReason(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unwritten := t.TempDir() // of an appliance with an invalid journal
	if err := errors.Join(os.WriteFile(filepath.Join(unwritten, "lock"), nil, 0o600), os.Mkdir(filepath.Join(unwritten, "netd.journal"), 0o700)); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	other := start(t, used)
	other.waitReady()
	for name, c := range map[string]struct {
		data, api, config, want string
	}{
		"directory in use":       {used, "127.0.0.1:0", "", "another instance runs on " + used + " (process " + strconv.Itoa(other.cmd.Process.Pid)},
		"directory of others":    {foreign, "127.0.0.1:0", "", "holds other files (precious)"},
		"journal is a directory": {unwritten, "127.0.0.1:0", "", "data directory " + unwritten},
		"API port taken":         {t.TempDir(), taken.Addr().String(), "", "another program uses this port"},
		"API address not local":  {t.TempDir(), "192.0.2.1:444", "", "no interface of this machine"},
		"configuration missing":  {t.TempDir(), "127.0.0.1:0", "/nowhere/c.yaml", "/nowhere/c.yaml"},
		"configuration is a dir": {t.TempDir(), "127.0.0.1:0", "/", "not a regular file"},
	} {
		i := start(t, c.data, "SUPERVISE_API="+c.api, "SUPERVISE_CONFIG="+c.config)
		select {
		case err := <-i.exited:
			if err == nil || !strings.Contains(i.log.String(), c.want) {
				t.Errorf("%s: %v, log %q, want %q in it", name, err, i.log, c.want)
			}
		case <-time.After(patience):
			t.Errorf("%s: it started", name)
			i.end()
		}
	}
	_ = other.stop(syscall.SIGTERM)
}

func TestDataBelowARootOnlyDirectoryWorks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: an ordinary user's roles all have its uid")
	}
	top := t.TempDir()
	if err := os.Chmod(top, 0o700); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(top, strings.Repeat("deep", 20), strings.Repeat("down", 20)) // too long for a socket address
	i := start(t, data)
	i.waitReady()
	st, err := os.Stat(filepath.Join(data, "written"))
	if err != nil {
		t.Fatal(err)
	}
	if uid := st.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("mgmt wrote as root")
	}
	_ = i.stop(syscall.SIGTERM)
}

func TestPlantedLinkIsNotFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: only root has rights a link could abuse")
	}
	data := t.TempDir()
	i := start(t, data)
	i.waitReady()
	_ = i.stop(syscall.SIGTERM)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("root's"), 0o644); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(data, "lock")
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, lock); err != nil {
		t.Fatal(err)
	}
	i = start(t, data)
	if text := <-i.ready; text != "" {
		t.Error("it started over a planted link")
	}
	i.end()
	b, err := os.ReadFile(victim)
	if err != nil || string(b) != "root's" {
		t.Errorf("the file behind the link is now %q, %v", b, err)
	}
}
