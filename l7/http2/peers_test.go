package http2_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// start runs an external server that listens on a socket in dir and returns a connection to
// it.
func start(t *testing.T, name, config string, args ...string) *backend {
	t.Helper()
	path := ""
	for _, folder := range []string{"", "/usr/sbin/"} {
		if p, err := exec.LookPath(folder + name); err == nil {
			path = p
		}
	}
	if path == "" {
		t.Skipf("%s is not installed", name)
	}
	dir := t.TempDir()
	file, socket := filepath.Join(dir, "config"), filepath.Join(dir, "socket")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append(args, file)...)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			return dial(t, conn, false)
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not listen: %v", name, err)
		}
	}
}

func TestNginxAnswers(t *testing.T) {
	b := start(t, "nginx", `daemon off; master_process off; pid DIR/pid; error_log stderr; user root;
events {}
http {
	access_log off; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; scgi_temp_path DIR/s;
	server {
		listen unix:DIR/socket http2; keepalive_requests 5;
		location / { return 200 "hello $http_x_a $http_cookie"; }
	}
}`, "-c")
	for range 3 {
		c := b.open(head("GET", "/", "X-A: 1", "Cookie: a=b"), nil).wait(t)
		if !strings.HasPrefix(c.head, "HTTP/1.1 200 OK\r\n") || c.body.String() != "hello 1 a=b" {
			t.Fatalf("%q %q %v %v", c.head, c.body.String(), c.code, c.why)
		}
	}
	if c := b.open(head("POST", "/"), zeros(100_000)).wait(t); !strings.HasPrefix(c.head, "HTTP/1.1 200 ") {
		t.Errorf("%q %v %v", c.head, c.code, c.why)
	}
	b.open(head("GET", "/last"), nil).wait(t)
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b.mu.Lock()
		n := b.conn.Available()
		b.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the client did not react to GOAWAY")
		}
	}
}

func TestHAProxyAnswers(t *testing.T) {
	b := start(t, "haproxy", `global
	nbthread 1
defaults
	mode http
	timeout client 10s
	timeout connect 10s
	timeout server 10s
frontend f
	bind unix@DIR/socket proto h2
	http-request return status 200 content-type text/plain lf-string "hello %[req.hdr(x-a)]"
`, "-db", "-f")
	for range 3 {
		c := b.open(head("GET", "/", "X-A: 1"), nil).wait(t)
		if !strings.HasPrefix(c.head, "HTTP/1.1 200 OK\r\n") || c.body.String() != "hello 1" {
			t.Fatalf("%q %q %v %v", c.head, c.body.String(), c.code, c.why)
		}
	}
}
