package roundtrips

import (
	"fmt"

	"github.com/sluicelb/sluice/bench/peers"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// nginx starts nginx with one relaying worker.
func (n *network) nginx() {
	n.t.Helper()
	module := ""
	if m := (peers.Setup{}).Modules(); m != "" {
		module = "load_module " + m + ";"
	}
	proxytest.Nginx(n.t, n.Proxy, fmt.Sprintf(`%s
worker_processes 1;
events { worker_connections 1024; use epoll; accept_mutex off; multi_accept on; }
stream {
  upstream b { server %s max_fails=0; }
  server { listen %s udp; proxy_pass b; proxy_timeout 60s; }
}
`, module, serving, front))
	proxytest.Eventually(n.t, func() error {
		_, err := n.Proxy.Try("", "sh", "-c", "ss -lun | grep -q :9001")
		return err
	})
}

// sluice starts the appliance with a farm on a data path.
func (n *network) sluice(path string) {
	n.t.Helper()
	proxytest.Sluice(n.t, n.Proxy, fmt.Sprintf(`farms:
  - name: bench
    profile: l4xnat
    vip: %s
    vport: '9001'
    protocol: udp
    datapath: %s
    backends:
      - ip: %s
        port: 8080
`, proxytest.Front, path, server), "SLUICE_LOOPS=1", oneAtATime)
}
