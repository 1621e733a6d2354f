package outages

import (
	"fmt"

	"github.com/sluicelb/sluice/bench/proxytest"
)

// start starts a proxy and returns once it serves.
func (n *network) start(name string) {
	n.t.Helper()
	switch name {
	case "haproxy":
		n.haproxy()
	case "nginx":
		n.nginx()
	default:
		n.sluice()
	}
	client := n.Client.Client()
	proxytest.Eventually(n.t, func() error {
		res, err := client.Get("http://" + front + "/")
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
	proxytest.HAProxy(n.t, n.Proxy, fmt.Sprintf(`frontend f
    bind %s
    default_backend b
backend b
    server s1 %s:8080
    server s2 %s:8080
`, front, servers[0], servers[1]))
}

func (n *network) nginx() {
	n.t.Helper()
	proxytest.Nginx(n.t, n.Proxy, fmt.Sprintf(`worker_processes 1;
events { worker_connections 4096; }
http {
  access_log off;
  upstream b { server %s:8080; server %s:8080; }
  server { listen %s; location / { proxy_pass http://b; } }
}
`, servers[0], servers[1], front))
}

func (n *network) sluice() {
	n.t.Helper()
	proxytest.Sluice(n.t, n.Proxy, fmt.Sprintf(`farms:
  - name: bench
    profile: http
    vip: %s
    vport: 9001
    services:
      - name: all
        backends:
          - {ip: %s, port: 8080}
          - {ip: %s, port: 8080}
`, proxytest.Front, servers[0], servers[1]))
}
