package outages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// start starts a proxy and returns once it serves.
func (n *network) start(name string) {
	n.t.Helper()
	switch name {
	case "haproxy":
		n.haproxy()
	case "nginx":
		n.nginx()
	default:
		n.sluice(name)
	}
	client := n.client.Client()
	n.eventually(func() error {
		res, err := client.Get("http://" + front + ":" + port + "/")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != 200 {
			return fmt.Errorf("%s: %s", name, res.Status)
		}
		return nil
	})
}

func (n *network) haproxy() {
	n.t.Helper()
	n.proxy.Serve("haproxy", "-db", "-f", write(n.t, "haproxy.cfg", fmt.Sprintf(`defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend f
    bind %s:%s
    default_backend b
backend b
    server s1 %s:8080
    server s2 %s:8080
`, front, port, servers[0], servers[1])))
}

func (n *network) nginx() {
	n.t.Helper()
	n.proxy.Serve("nginx", "-c", write(n.t, "nginx.conf", fmt.Sprintf(`worker_processes 1;
pid %s/nginx.pid;
error_log /dev/null crit;
daemon off;
events { worker_connections 4096; }
http {
  access_log off;
  upstream b { server %s:8080; server %s:8080; }
  server { listen %s:%s; location / { proxy_pass http://b; } }
}
`, n.t.TempDir(), servers[0], servers[1], front, port)))
}

func (n *network) sluice(program string) {
	n.t.Helper()
	data := n.t.TempDir()
	n.proxy.Serve(program, "run", "--data", data, "--api", "127.0.0.1:9100")
	n.proxy.Run("ip", "link", "set", "lo", "up")
	n.eventually(func() error { return n.try(program, "status", "--data", data) })
	document := write(n.t, "farm.yaml", fmt.Sprintf(`farms:
  - name: bench
    profile: http
    vip: %s
    vport: %s
    services:
      - name: all
        backends:
          - {ip: %s, port: 8080}
          - {ip: %s, port: 8080}
`, front, port, servers[0], servers[1]))
	n.eventually(func() error { return n.try(program, "apply", "-f", document, "--data", data) })
}

func (n *network) try(name string, args ...string) error {
	_, err := n.proxy.Try("", name, args...)
	return err
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
	for _, name := range []string{"haproxy", "nginx", "nft"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
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
