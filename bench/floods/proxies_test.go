package floods

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Ports of the machine.
const (
	serving  = "127.0.0.1:8080"
	attacked = "127.0.0.1:9001"
	polite   = "127.0.0.1:9002"
)

// Roles of the test program in the namespace.
const (
	attacking = "attack"
	answering = "backend"
)

func TestMain(m *testing.M) {
	proxytest.Main(m, map[string]func() error{attacking: attackMain, answering: answer})
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

// machine is a namespace with a proxy, its backend, attackers and a client.
type machine struct {
	t *testing.T
	*housetest.Namespace
	proxy   *exec.Cmd
	backend *proxytest.Player
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, Namespace: housetest.New(t).Namespace("machine")}
	m.backend = proxytest.Play(t, m.Namespace, answering)
	m.backend.Await()
	return m
}

// accepted returns the number of connections to the backend so far.
func (m *machine) accepted() int64 {
	m.t.Helper()
	if _, err := io.WriteString(m.backend.In, "\n"); err != nil {
		m.t.Fatal(err)
	}
	var c backend.Counters
	m.backend.Read(&c)
	return int64(c.Accepted)
}

func (m *machine) haproxy() {
	m.t.Helper()
	m.proxy = proxytest.HAProxy(m.t, m.Namespace, fmt.Sprintf(`global
    maxconn 5000
frontend attacked
    bind %s
    default_backend b
frontend polite
    bind %s
    default_backend b
backend b
    server s %s
`, attacked, polite, serving))
}

func (m *machine) nginx() {
	m.t.Helper()
	m.proxy = proxytest.Nginx(m.t, m.Namespace, fmt.Sprintf(`worker_processes auto;
events { worker_connections 4096; }
http {
  access_log off;
  upstream b { server %s max_fails=0; keepalive 64; }
  server { listen %s http2; location / { proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; } }
  server { listen %s; location / { proxy_pass http://b; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`, serving, attacked, polite))
}

func (m *machine) sluice() {
	m.t.Helper()
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
	m.proxy = proxytest.Sluice(m.t, m.Namespace, text)
}
