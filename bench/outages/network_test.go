package outages

import (
	"io"
	"net/http"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Addresses of a network, whose proxy stands between clients and servers.
const (
	front = "10.1.0.1"
	port  = "9001"
)

var servers = []string{"10.2.0.2", "10.2.0.3"}

// network is a client, a proxy and two servers on one machine.
type network struct {
	t                     *testing.T
	client, proxy, server *housetest.Namespace
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	h := housetest.New(t)
	n := &network{t: t, client: h.Namespace("client"), proxy: h.Namespace("proxy"), server: h.Namespace("server")}
	n.join(n.client, "front", front, "10.1.0.2")
	n.join(n.server, "back", "10.2.0.1", servers...)
	for _, at := range servers {
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
		ln := n.server.Listen("tcp", at+":8080")
		go func() { _ = s.Serve(ln) }()
		t.Cleanup(func() { _ = s.Close() })
	}
	return n
}

// join puts a wire between the proxy and another machine.
func (n *network) join(other *housetest.Namespace, device, here string, there ...string) {
	n.t.Helper()
	n.proxy.Run("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", other.Path())
	n.proxy.Run("ip", "addr", "add", here+"/24", "dev", device)
	n.proxy.Run("ip", "link", "set", device, "up")
	for _, addr := range there {
		other.Run("ip", "addr", "add", addr+"/24", "dev", "eth0")
	}
	other.Run("ip", "link", "set", "eth0", "up")
}

// outage is a way to lose all servers, and to have them back.
type outage struct {
	name        string
	begin, over func(n *network)
}

var outages = []outage{
	{"link down", func(n *network) { n.proxy.Run("ip", "link", "set", "back", "down") },
		func(n *network) { n.proxy.Run("ip", "link", "set", "back", "up") }},
	{"packets lost", func(n *network) {
		n.server.Feed("table ip lost { chain in { type filter hook input priority 0; drop; }; }\n", "nft", "-f", "-")
	}, func(n *network) { n.server.Run("nft", "delete", "table", "ip", "lost") }},
}
