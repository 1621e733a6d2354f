package outages

import (
	"io"
	"net/http"
	"testing"

	"github.com/sluicelb/sluice/bench/proxytest"
)

// front is the address of the proxy.
const front = proxytest.Front + ":9001"

var servers = []string{"10.2.0.2", "10.2.0.3"}

// network is a client, a proxy and two servers on one machine.
type network struct {
	*proxytest.Network
	t *testing.T
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{proxytest.NewNetwork(t, servers...), t}
	for _, at := range servers {
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
		ln := n.Server.Listen("tcp", at+":8080")
		go func() { _ = s.Serve(ln) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	return n
}

// outage is a way to lose all servers, and to restore them.
type outage struct {
	name        string
	begin, over func(n *network)
}

var outages = []outage{
	{"link down", func(n *network) { n.Proxy.Run("ip", "link", "set", "back", "down") },
		func(n *network) { n.Proxy.Run("ip", "link", "set", "back", "up") }},
	{"packets lost", func(n *network) {
		n.Server.Feed("table ip lost { chain in { type filter hook input priority 0; drop; }; }\n", "nft", "-f", "-")
	}, func(n *network) { n.Server.Run("nft", "delete", "table", "ip", "lost") }},
}
