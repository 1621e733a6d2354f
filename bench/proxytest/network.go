package proxytest

import (
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Addresses of the proxy of a Network; its client is Client.
const (
	Front  = "10.1.0.1"
	Client = "10.1.0.2"
	back   = "10.2.0.1"
)

// Network is a client, a proxy and a server without others. The proxy is the router of
// client and server. Its devices are "front" and "back", the others are "eth0".
type Network struct {
	Client, Proxy, Server *housetest.Namespace
}

// NewNetwork returns a network whose server has these addresses of 10.2.0.0/24.
func NewNetwork(t testing.TB, servers ...string) *Network {
	t.Helper()
	h := housetest.New(t)
	n := &Network{Client: h.Namespace("client"), Proxy: h.Namespace("proxy"), Server: h.Namespace("server")}
	n.join(n.Client, "front", Front, Client)
	n.join(n.Server, "back", back, servers...)
	return n
}

// join connects the proxy and another machine, whose router it is.
func (n *Network) join(other *housetest.Namespace, device, here string, there ...string) {
	n.Proxy.Run("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", other.Path())
	n.Proxy.Run("ip", "addr", "add", here+"/24", "dev", device)
	n.Proxy.Run("ip", "link", "set", device, "up")
	for _, addr := range there {
		other.Run("ip", "addr", "add", addr+"/24", "dev", "eth0")
	}
	other.Run("ip", "link", "set", "eth0", "up")
	other.Run("ip", "route", "add", "default", "via", here)
}
