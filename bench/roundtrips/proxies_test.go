package roundtrips

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/peers"
)

const port = "9001"

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// nginx starts a worker that relays.
func (n *network) nginx() {
	n.t.Helper()
	module := ""
	if m := (peers.Setup{}).Modules(); m != "" {
		module = "load_module " + m + ";"
	}
	n.proxy.Serve("nginx", "-c", write(n.t, "nginx.conf", fmt.Sprintf(`%s
worker_processes 1;
pid %s/nginx.pid;
error_log /dev/null crit;
daemon off;
events { worker_connections 1024; use epoll; accept_mutex off; multi_accept on; }
stream {
  upstream b { server %s max_fails=0; }
  server { listen %s:%s udp; proxy_pass b; proxy_timeout 60s; }
}
`, module, n.t.TempDir(), serving, front, port)))
	n.listening()
}

// sluice starts the appliance with a farm on a data path.
func (n *network) sluice(program, path string) {
	n.t.Helper()
	data := n.t.TempDir()
	n.proxy.Serve("env", "SLUICE_LOOPS=1", oneAtATime, program, "run", "--data", data, "--api", "127.0.0.1:9100")
	n.eventually(func() error { return n.try(program, "status", "--data", data) })
	document := write(n.t, "farm.yaml", fmt.Sprintf(`farms:
  - name: bench
    profile: l4xnat
    vip: %s
    vport: '%s'
    protocol: udp
    datapath: %s
    backends:
      - ip: %s
        port: 8080
`, front, port, path, server))
	n.eventually(func() error { return n.try(program, "apply", "-f", document, "--data", data) })
}

func (n *network) try(name string, args ...string) error {
	_, err := n.proxy.Try("", name, args...)
	return err
}

// listening waits for a socket on the port.
func (n *network) listening() {
	n.t.Helper()
	n.eventually(func() error { return n.try("sh", "-c", "ss -lun | grep -q :"+port) })
}

func (n *network) eventually(do func() error) {
	n.t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	n.t.Fatal(err)
}

// programs skips the test where one is missing, and returns that of Sluice.
func programs(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip(err)
	}
	sluice, err := filepath.Abs("../../bin/sluice")
	if err == nil {
		_, err = os.Stat(sluice)
	}
	if err != nil {
		t.Skipf("make build makes it: %v", err)
	}
	return sluice
}
