package roundtrips

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/bench/proxytest"
)

// Addresses of the proxy, and of the server behind it.
const (
	front   = proxytest.Front + ":9001"
	server  = "10.2.0.2"
	serving = server + ":8080"
)

// Roles of the test program in namespaces.
const (
	loading    = "load"
	echoing    = "echo"
	oneAtATime = "GOMAXPROCS=1"
)

func TestMain(m *testing.M) {
	proxytest.Main(m, map[string]func() error{loading: func() error { return load.Main(os.Stdin, os.Stdout) }, echoing: echo})
}

func echo() error {
	d, err := backend.ListenDatagrams(netip.MustParseAddrPort(serving))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return d.Serve(0)
}

// network has a load at the client and echoes at the server.
type network struct {
	*proxytest.Network
	*proxytest.Player
	t *testing.T
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{Network: proxytest.NewNetwork(t, server), t: t}
	n.Proxy.Sysctl("net.ipv4.ip_forward", "1")
	proxytest.Play(t, n.Server, echoing, oneAtATime).Await()
	return n
}

// aim starts a load of 64 clients with 4 datagrams in flight each.
func (n *network) aim(at string, slice time.Duration) {
	n.t.Helper()
	n.Player = proxytest.Play(n.t, n.Client, loading, oneAtATime)
	spec := load.Spec{Target: netip.MustParseAddrPort(at), Connections: 64, Window: 4, Body: 64, Duration: slice, Patience: 5 * time.Second}
	if err := json.NewEncoder(n.In).Encode(spec); err != nil {
		n.t.Fatal(err)
	}
	var state load.State
	if n.Read(&state); !state.Ready {
		n.t.Fatalf("%s: %s", at, state.Error)
	}
}
