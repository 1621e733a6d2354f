package appliance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/cmd/appliance"
	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/role"
	"github.com/sluicelb/sluice/cmd/supervisor"
)

// This test binary is also the program, when PROGRAM is set, and each of its roles.
func TestMain(m *testing.M) {
	status := 0
	if name, ok := role.Named(os.Args); ok {
		status = role.Main(name, "1.2.3")
	} else if os.Getenv("PROGRAM") != "" {
		status = cli.Run(cli.Root(appliance.Commands()...), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	} else {
		status = m.Run()
	}
	supervisor.FlushLog()
	os.Exit(status)
}

// program runs the command until it says a text, stops it, and returns all it said
// and its exit status.
func program(t *testing.T, until string, use func(), args ...string) (said string, status int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "PROGRAM=1", supervisor.LogVariable+"=")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var all strings.Builder
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		if all.WriteString(line); err != nil {
			break
		}
		if strings.Contains(line, until) {
			use()
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	_ = cmd.Wait()
	return all.String(), cmd.ProcessState.ExitCode()
}

func directory(t *testing.T) string {
	t.Helper()
	data, err := os.MkdirTemp("", "run") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	return data
}

// runCommand returns the output of a command of the command line.
func runCommand(t *testing.T, data string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := cli.Execute(append([]string{"--data", data}, args...), nil, &out, &out); code != 0 {
		t.Errorf("sluice %v: %s", args, &out)
	}
	return out.String()
}

func TestRunFollowsItsFlags(t *testing.T) {
	config := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(config, []byte("farms:\n- {name: shop, profile: http, vip: 127.0.0.1, vport: 65124, stopped: true}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := directory(t)
	stray := inherited(t)
	said, status := program(t, `msg="sluice serves"`, func() {
		if out := runCommand(t, data, "farm", "list"); !strings.Contains(out, "shop") {
			t.Errorf("farms: %s", out)
		}
		var body struct {
			Params struct {
				Roles []struct {
					Name string
					PID  int
				}
			}
		}
		if err := json.Unmarshal([]byte(runCommand(t, data, "status", "--json")), &body); err != nil || len(body.Params.Roles) != 4 {
			t.Fatalf("%+v, %v", body, err)
		}
		for _, r := range body.Params.Roles {
			for _, open := range filesOf(r.PID) {
				if open == stray {
					t.Errorf("%s has inherited %s", r.Name, open)
				}
			}
			env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.PID))
			if err != nil {
				t.Logf("not shown: %v", err)
				continue
			}
			if !bytes.Contains(env, []byte("SLUICE_GRACE=3.5s\x00")) || bytes.Contains(env, []byte("SLUICE_OPEN_METRICS=1\x00")) != (r.Name == "mgmt") {
				t.Errorf("the environment of %s lacks the grace time, or has the wrong setting for metrics: %q", r.Name, env)
			}
		}
	}, "run", "--data", data, "--api", "127.0.0.1:0", "--config", config, "--grace", "3.5s", "--open-metrics")
	if status != 0 || !strings.Contains(said, "api=https://127.0.0.1:") || !strings.Contains(said, "data="+data) {
		t.Errorf("exit %d:\n%s", status, said)
	}
}

// inherited opens a pipe that children of this process inherit, and returns its name.
func inherited(t *testing.T) string {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe2(ends[:], 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = syscall.Close(ends[0]), syscall.Close(ends[1]) })
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ends[0]))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// filesOf names the open files of a process.
func filesOf(pid int) (names []string) {
	folder := fmt.Sprintf("/proc/%d/fd", pid)
	open, _ := os.ReadDir(folder)
	for _, e := range open {
		if name, err := os.Readlink(filepath.Join(folder, e.Name())); err == nil {
			names = append(names, name)
		}
	}
	return names
}

func TestDemoLogsLittle(t *testing.T) {
	data := directory(t)
	t.Setenv("SLUICE_DATA", "/a/real/instance")
	said, status := program(t, "--mode drain", func() {
		if out := runCommand(t, data, "farm", "list"); !strings.Contains(out, "demo") {
			t.Errorf("farms: %s", out)
		}
	}, "demo", "--data", data, "--api", "127.0.0.1:0")
	if status != 0 || strings.Contains(said, "level=INFO") || !strings.Contains(said, "Sluice is running.") {
		t.Errorf("exit %d:\n%s", status, said)
	}
}

func TestInvalidAPIAddressesAreRefusedAtOnce(t *testing.T) {
	for _, command := range []string{"run", "demo"} {
		for _, api := range []string{"4444", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", ":-1"} {
			data := filepath.Join(t.TempDir(), "data")
			var wrong bytes.Buffer
			code := cli.Run(cli.Root(appliance.Commands()...), []string{command, "--data", data, "--api", api}, nil, io.Discard, &wrong)
			if want := fmt.Sprintf("--api %q is no ADDR:PORT", api); code != 2 || !strings.Contains(wrong.String(), want) {
				t.Errorf("%s --api %s: exit %d, %s", command, api, code, &wrong)
			}
			if _, err := os.Stat(data); err == nil {
				t.Errorf("%s --api %s made its directory", command, api)
			}
		}
		var wrong bytes.Buffer
		if code := cli.Run(cli.Root(appliance.Commands()...), []string{command, "more"}, nil, io.Discard, &wrong); code != 2 {
			t.Errorf("%s more: exit %d, %s", command, code, &wrong)
		}
	}
}
