// Package e2e_test drives the built program from outside, as a user would:
// command line, REST, signals and traffic.
package e2e_test

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// program is the built binary, in a directory readable by all users.
var program string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	if name := os.Getenv(serverVariable); name != "" {
		return serveAlone(name)
	}
	if program = os.Getenv(programVariable); program != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "sluice-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "sluice")
	if raceBuild {
		err = build(program, "CGO_ENABLED=1", "-race")
	} else {
		err = build(program, "CGO_ENABLED=0")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build builds a program executable by all users.
func build(path, env string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", path}, flags...), "../sluice")...)
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return os.Chmod(path, 0o755)
}

// shipped is the program as released. The race detector makes a start several times longer,
// so limits in seconds are checked with this one.
var shipped = sync.OnceValues(func() (string, error) {
	if !raceBuild {
		return program, nil
	}
	path := program + "-shipped"
	return path, build(path, "CGO_ENABLED=0")
})

// identity is the user of the appliance; a nil credential means the test's own.
type identity struct {
	name       string
	credential *syscall.Credential
}

const nobody = 65534

// asEachUser runs the test as root and as an ordinary user, if possible.
func asEachUser(t *testing.T, test func(t *testing.T, who identity)) {
	if os.Geteuid() != 0 {
		t.Log("not shown: as root (this is an ordinary user)")
		t.Run("user", func(t *testing.T) { test(t, identity{name: "user"}) })
		return
	}
	t.Run("root", func(t *testing.T) { test(t, identity{name: "root"}) })
	t.Run("user", func(t *testing.T) {
		test(t, identity{"user", &syscall.Credential{Uid: nobody, Gid: nobody}})
	})
}

// appliance is a running instance.
type appliance struct {
	t    *testing.T
	who  identity
	data string
	in   surroundings
	api  string
	cmd  *exec.Cmd

	mu   sync.Mutex
	log  bytes.Buffer
	seen chan string // lines of the log
	done chan error
	// reads is held to stop reading the log.
	reads sync.Mutex
	pipe  io.ReadCloser
}

var serves = regexp.MustCompile(`msg="sluice serves".* api=https://(\S+)`)

// dataDir returns a data directory of that user, deleted after the test.
func dataDir(t *testing.T, who identity) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-data-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if who.credential != nil {
		if err := os.Chown(dir, int(who.credential.Uid), int(who.credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func start(t *testing.T, who identity, data string, args ...string) *appliance {
	t.Helper()
	return startIn(t, who, data, surroundings{}, args...)
}

// surroundings is the environment of an instance.
type surroundings struct {
	env   []string // in addition to that of every command
	shell string   // shell commands before the program is executed
	// program is the binary to start; empty means that of this test run.
	program string
	space   *housetest.Namespace // nil means the test's own
}

func startIn(t *testing.T, who identity, data string, in surroundings, args ...string) *appliance {
	t.Helper()
	a := &appliance{t: t, who: who, data: data, in: in, seen: make(chan string, 1000), done: make(chan error, 1)}
	a.cmd = a.command(append([]string{"run", "--data", data, "--api", "127.0.0.1:0", "--outbound-allow", "127.0.0.0/8,::1"}, args...)...)
	stderr, err := a.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.pipe = stderr
	begin := a.cmd.Start
	if in.space != nil {
		begin = func() error { return in.space.Start(a.cmd) }
	}
	if err := begin(); err != nil {
		t.Fatal(err)
	}
	go a.read(stderr)
	t.Cleanup(func() {
		_ = a.stop()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, bad := range []string{"DATA RACE", "panic: "} {
			if strings.Contains(a.log.String(), bad) {
				t.Errorf("the log holds %q", bad)
			}
		}
		if t.Failed() {
			t.Logf("log of the appliance:\n%s", a.log.String())
		}
	})
	a.api = a.await(serves)
	return a
}

// says waits until the log has so many matching lines. The log arrives by a pipe, after the
// response of the operation.
func (a *appliance) says(pattern string, lines int) {
	a.t.Helper()
	line := regexp.MustCompile(pattern)
	within(a.t, 20*time.Second, "the log says "+pattern, func() error {
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := len(line.FindAllString(a.log.String(), -1)); n < lines {
			return fmt.Errorf("got %d times, want %d", n, lines)
		}
		return nil
	})
}

func (a *appliance) command(args ...string) *exec.Cmd {
	name := cmp.Or(a.in.program, program)
	cmd := exec.Command(name, args...)
	if a.in.shell != "" {
		cmd = exec.Command("/bin/sh", append([]string{"-c", a.in.shell + `; exec "$0" "$@"`, name}, args...)...)
	}
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + a.data, "NO_COLOR=1", "GORACE=atexit_sleep_ms=0"}
	cmd.Env = append(cmd.Env, a.in.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: a.who.credential}
	return cmd
}

func (a *appliance) read(stderr io.Reader) {
	for sc := bufio.NewScanner(stderr); sc.Scan(); {
		a.reads.Lock() // not read while a test holds it
		line := sc.Text()
		a.reads.Unlock()
		a.mu.Lock()
		a.log.WriteString(line + "\n")
		a.mu.Unlock()
		select {
		case a.seen <- line:
		default:
		}
	}
	a.done <- a.cmd.Wait()
}

// await returns the first group of the next log line that matches.
func (a *appliance) await(what *regexp.Regexp) string {
	a.t.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case line := <-a.seen:
			if m := what.FindStringSubmatch(line); m != nil {
				return m[len(m)-1]
			}
		case err := <-a.done:
			a.done <- err
			a.t.Fatalf("the appliance ended: %v", err)
		case <-limit:
			a.t.Fatalf("no line %q in the log", what)
		}
	}
}

// stop ends the appliance like Ctrl-C and returns its result.
func (a *appliance) stop() error {
	_ = a.cmd.Process.Signal(syscall.SIGINT)
	select {
	case err := <-a.done:
		a.done <- err
		return err
	case <-time.After(15 * time.Second):
		_ = a.cmd.Process.Kill()
		return errors.New("it did not stop")
	}
}

// run calls the command line and returns its output and exit status.
func (a *appliance) run(args ...string) (string, int) {
	a.t.Helper()
	cmd := a.command(append([]string{"--data", a.data}, args...)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		a.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// must is run for commands that must succeed.
func (a *appliance) must(args ...string) string {
	a.t.Helper()
	out, code := a.run(args...)
	if code != 0 {
		a.t.Fatalf("sluice %s: exit status %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// key creates an API key.
func (a *appliance) key() string {
	a.t.Helper()
	lines := strings.Split(strings.TrimSpace(a.must("key", "create")), "\n")
	return lines[len(lines)-1]
}

var insecure = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{
	TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

// rest sends one request to the API.
func (a *appliance) rest(key, method, path string, body any) (int, string) {
	a.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequest(method, "https://"+a.api+"/api/v4.0"+path, bytes.NewReader(b))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("ZAPI_KEY", key)
	}
	client := insecure
	if a.in.space != nil {
		client = a.in.space.Client()
	}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// pid returns the process of a role according to the system.
func (a *appliance) pid(role string) int {
	a.t.Helper()
	for limit := time.Now().Add(5 * time.Second); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		// Each supervisor thread has its own children.
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", a.cmd.Process.Pid))
		for _, task := range tasks {
			b, _ := os.ReadFile(task)
			for field := range strings.FieldsSeq(string(b)) {
				line, _ := os.ReadFile("/proc/" + field + "/cmdline")
				if strings.TrimRight(string(line), "\x00") == "sluice: "+role {
					pid, _ := strconv.Atoi(field)
					return pid
				}
			}
		}
	}
	a.t.Fatalf("no process of the role %s", role)
	return 0
}

// kill kills a role and returns its process id.
func (a *appliance) kill(role string) int {
	a.t.Helper()
	pid := a.pid(role)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		a.t.Fatal(err)
	}
	return pid
}

// backend starts a server that responds with its name and returns its address.
func backend(t *testing.T, name string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// freePort returns a loopback port reserved until the test ends.
func freePort(t *testing.T) int {
	t.Helper()
	return freePorts(t, 1)[0]
}

// farm creates a farm with one backend by the command line and returns its URL.
func (a *appliance) farm(name, backend string) string {
	a.t.Helper()
	port := freePort(a.t)
	a.must("farm", "create", name, "vip=127.0.0.1", fmt.Sprintf("vport=%d", port))
	a.must("service", "create", name, "all")
	a.must("backend", "create", name, "all", backend)
	return fmt.Sprintf("http://127.0.0.1:%d/", port)
}

// get fetches a URL on a new connection.
func get(url string) (string, error) {
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	return string(b), err
}

func wantAnswer(t *testing.T, url, want string) {
	t.Helper()
	if got, err := get(url); err != nil || got != want {
		t.Errorf("%s answered %q, %v; want %q", url, got, err, want)
	}
}

// within waits until what succeeds, and fails after limit.
func within(t *testing.T, limit time.Duration, name string, what func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := what()
		if took := time.Since(began); took > limit {
			t.Errorf("%s: not within %v (%v)", name, limit, err)
			return
		}
		if err == nil {
			t.Logf("%s after %v", name, time.Since(began).Round(time.Millisecond))
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
