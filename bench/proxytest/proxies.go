package proxytest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Find returns the path of a program; "sluice" is the result of `make build`. It skips
// the test if the program is missing.
func Find(t testing.TB, name string) string {
	t.Helper()
	if name == "sluice" {
		path, err := filepath.Abs("../../bin/sluice")
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			t.Skipf("make build makes it: %v", err)
		}
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil { // not in the PATH of an ordinary user of Debian
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		t.Skip(err)
	}
	return path
}

// Sluice starts the appliance with environment variables, and applies a document.
func Sluice(t testing.TB, n *housetest.Namespace, document string, env ...string) *exec.Cmd {
	t.Helper()
	program, data := Find(t, "sluice"), t.TempDir()
	p := n.Serve("env", append(env, program, "run", "--data", data, "--api", "127.0.0.1:9100")...)
	file := write(t, "farms.yaml", document)
	for _, args := range [][]string{{"status"}, {"apply", "--yes", "-f", file}} {
		Eventually(t, func() error {
			_, err := n.Try("", program, append(args, "--data", data)...)
			return err
		})
	}
	return p
}

// HAProxy starts HAProxy with HTTP frontends and backends.
func HAProxy(t testing.TB, n *housetest.Namespace, config string) *exec.Cmd {
	t.Helper()
	return n.Serve(Find(t, "haproxy"), "-db", "-f", write(t, "haproxy.cfg", `defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
`+config))
}

// Nginx starts nginx with a configuration.
func Nginx(t testing.TB, n *housetest.Namespace, config string) *exec.Cmd {
	t.Helper()
	return n.Serve(Find(t, "nginx"), "-c", write(t, "nginx.conf", fmt.Sprintf(`pid %s/nginx.pid;
error_log /dev/null crit;
daemon off;
`, t.TempDir())+config))
}

// Eventually repeats do until it succeeds, for twenty seconds.
func Eventually(t testing.TB, do func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = do(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

func write(t testing.TB, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
