package floods

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Ports of the machine all of it happens on.
const (
	serving  = "127.0.0.1:8080"
	attacked = "127.0.0.1:9001"
	polite   = "127.0.0.1:9002"
)

// Roles of the test program, which starts itself in the namespace.
const (
	role      = "SLUICE_FLOODS_ROLE"
	attacking = "attack"
	answering = "backend"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case attacking:
		err = attackMain()
	case answering:
		err = answer()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer() error {
	s, err := backend.Listen(netip.MustParseAddrPort(serving))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	out := json.NewEncoder(os.Stdout)
	return s.Serve(0, func(c backend.Counters) { _ = out.Encode(c) })
}

// machine is where a proxy, its backend, attackers and a client run.
type machine struct {
	t *testing.T
	*housetest.Namespace
	proxy   *exec.Cmd
	backend *helper
}

// helper is this program in another role.
type helper struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, Namespace: housetest.New(t).Namespace("machine")}
	m.backend = m.play(answering)
	if _, err := m.backend.out.ReadString('\n'); err != nil {
		t.Fatalf("the backend did not start: %v", err)
	}
	return m
}

// play starts this program in a role that ends with its input.
func (m *machine) play(as string) *helper {
	m.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := m.Start(cmd); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &helper{in, bufio.NewReader(out), cmd}
}

func (h *helper) read(t *testing.T, into any) {
	t.Helper()
	line, err := h.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// accepted is how many connections the backend has had.
func (m *machine) accepted() int64 {
	m.t.Helper()
	if _, err := io.WriteString(m.backend.in, "\n"); err != nil {
		m.t.Fatal(err)
	}
	var c backend.Counters
	m.backend.read(m.t, &c)
	return int64(c.Accepted)
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func (m *machine) haproxy(program string) {
	m.t.Helper()
	m.proxy = m.Serve(program, "-db", "-f", write(m.t, "haproxy.cfg", fmt.Sprintf(`global
    maxconn 5000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend attacked
    bind %s
    default_backend b
frontend polite
    bind %s
    default_backend b
backend b
    server s %s
`, attacked, polite, serving)))
}

func (m *machine) nginx(program string) {
	m.t.Helper()
	m.proxy = m.Serve(program, "-c", write(m.t, "nginx.conf", fmt.Sprintf(`worker_processes auto;
pid %s/nginx.pid;
error_log /dev/null crit;
daemon off;
events { worker_connections 4096; }
http {
  access_log off;
  upstream b { server %s max_fails=0; keepalive 64; }
  server { listen %s http2; location / { proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; } }
  server { listen %s; location / { proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`, m.t.TempDir(), serving, attacked, polite)))
}

func (m *machine) sluice(program string) {
	m.t.Helper()
	data := m.t.TempDir()
	m.proxy = m.Serve(program, "run", "--data", data, "--api", "127.0.0.1:9100")
	m.eventually(func() error { return m.try(program, "status", "--data", data) })
	text := "farms:\n"
	for _, port := range []string{"9001", "9002"} {
		text += fmt.Sprintf(`  - name: f%[1]s
    profile: http
    vip: 127.0.0.1
    vport: %[1]s
    services:
      - name: all
        backends:
          - ip: 127.0.0.1
            port: 8080
`, port)
	}
	m.eventually(func() error { return m.try(program, "apply", "-f", write(m.t, "farms.yaml", text), "--data", data) })
}

func (m *machine) try(name string, args ...string) error {
	_, err := m.Try("", name, args...)
	return err
}

func (m *machine) eventually(do func() error) {
	m.t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	m.t.Fatal(err)
}
