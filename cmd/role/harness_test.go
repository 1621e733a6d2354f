package role_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/cmd/cli"
	"github.com/sluicelb/sluice/cmd/role"
	"github.com/sluicelb/sluice/cmd/supervisor"
	"github.com/sluicelb/sluice/core/logtest"
)

// This test binary is also the appliance under test: each of its roles and, when RUN names a
// data directory, the supervisor.
func TestMain(m *testing.M) {
	status := 0
	if name, ok := role.Named(os.Args); ok {
		status = role.Main(name, "1.2.3")
	} else if data := os.Getenv("RUN"); data != "" {
		err := supervisor.Run(context.Background(), supervisor.Options{
			Data: data, API: "127.0.0.1:0", Config: os.Getenv("RUN_CONFIG"), OpenMetrics: true, Log: supervisor.Logger("supervisor"),
			Ready: func(i supervisor.Instance) { fmt.Println(i.API) },
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	} else {
		status = m.Run()
	}
	supervisor.FlushLog()
	os.Exit(status)
}

// appliance is a supervisor with its roles.
type appliance struct {
	t      *testing.T
	data   string
	api    string
	cmd    *exec.Cmd
	log    *logtest.Log
	exited chan error
}

// start starts an appliance with a document; ready requires that it becomes ready.
func start(t *testing.T, document string, ready bool, env ...string) *appliance {
	t.Helper()
	config := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(config, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := os.MkdirTemp("", "role") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	a := &appliance{t: t, data: data, log: &logtest.Log{}, exited: make(chan error, 1), cmd: exec.Command("/proc/self/exe")}
	a.cmd.Env = append(append(os.Environ(), "RUN="+data, "RUN_CONFIG="+config, "SLUICE_LOOPS=2"), env...)
	a.cmd.Stderr = a.log
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _ = os.RemoveAll(data) })
	said := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		said <- strings.TrimSpace(text)
		a.exited <- a.cmd.Wait()
	}()
	if a.api = <-said; ready == (a.api == "") {
		t.Fatalf("ready: %q\n%s", a.api, a.log)
	}
	return a
}

// must runs a command that must succeed; it returns its output with single blanks between
// words.
func (a *appliance) must(args ...string) string {
	a.t.Helper()
	var out, wrong bytes.Buffer
	if code := cli.Execute(append([]string{"--data", a.data}, args...), strings.NewReader(""), &out, &wrong); code != 0 {
		a.t.Fatalf("sluice %v: %s\n%s", args, &wrong, a.log)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// eventually waits until ok holds, with a generous limit for busy machines.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// shows waits until a command prints a text.
func (a *appliance) shows(want string, args ...string) {
	a.t.Helper()
	eventually(a.t, fmt.Sprintf("%q of sluice %v", want, args), func() bool { return strings.Contains(a.must(args...), want) })
}

// pid returns the process of a role, after its privileges were dropped.
func (a *appliance) pid(name string) int {
	a.t.Helper()
	var body struct {
		Params struct {
			Roles []struct {
				Name, State   string
				PID, Restarts int
			}
		}
	}
	if err := json.Unmarshal([]byte(a.must("status", "--json")), &body); err != nil {
		a.t.Fatal(err)
	}
	for _, r := range body.Params.Roles {
		if r.Name == name && strings.HasPrefix(r.State, "running: uid ") && strings.Contains(r.State, ", no new privileges") {
			return r.PID
		}
	}
	return 0
}

func get(url string) string {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// echo is a TCP echo server.
func echo(t *testing.T) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort()
}
