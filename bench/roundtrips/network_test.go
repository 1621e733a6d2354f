package roundtrips

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/sluicelb/sluice/bench/backend"
	"github.com/sluicelb/sluice/bench/load"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

// Addresses of a network: client and server have the proxy as their router.
const (
	front   = "10.1.0.1"
	client  = "10.1.0.2"
	back    = "10.2.0.1"
	server  = "10.2.0.2"
	serving = server + ":8080"
)

// Roles of the test program, which starts itself in namespaces.
const (
	role       = "SLUICE_ROUNDTRIPS_ROLE"
	loading    = "load"
	echoing    = "echo"
	oneAtATime = "GOMAXPROCS=1"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case loading:
		err = load.Main(os.Stdin, os.Stdout)
	case echoing:
		err = echo()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func echo() error {
	d, err := backend.ListenDatagrams(netip.MustParseAddrPort(serving))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	return d.Serve(0)
}

// network is a client, a proxy and a server with nobody else.
type network struct {
	t                     *testing.T
	client, proxy, server *housetest.Namespace
	in                    io.Writer
	out                   *bufio.Reader
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	h := housetest.New(t)
	n := &network{t: t, client: h.Namespace("client"), proxy: h.Namespace("proxy"), server: h.Namespace("server")}
	n.join(n.client, "front", front, client)
	n.join(n.server, "back", back, server)
	n.proxy.Sysctl("net.ipv4.ip_forward", "1")
	_, out := n.play(n.server, echoing)
	if _, err := out.ReadString('\n'); err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	return n
}

// join puts a wire between the proxy and another machine, whose router it is.
func (n *network) join(other *housetest.Namespace, device, here, there string) {
	n.t.Helper()
	n.proxy.Run("ip", "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", other.Path())
	n.proxy.Run("ip", "addr", "add", here+"/24", "dev", device)
	n.proxy.Run("ip", "link", "set", device, "up")
	other.Run("ip", "addr", "add", there+"/24", "dev", "eth0")
	other.Run("ip", "link", "set", "eth0", "up")
	other.Run("ip", "route", "add", "default", "via", here)
}

// play starts this program in a role that ends with its input.
func (n *network) play(where *housetest.Namespace, as string) (io.Writer, *bufio.Reader) {
	n.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), role+"="+as, oneAtATime)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	if err := where.Start(cmd); err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return in, bufio.NewReader(out)
}

// aim starts a load of 64 clients with 4 datagrams under way each.
func (n *network) aim(at string, slice time.Duration) {
	n.t.Helper()
	n.in, n.out = n.play(n.client, loading)
	spec := load.Spec{Target: netip.MustParseAddrPort(at), Connections: 64, Window: 4, Body: 64, Duration: slice, Patience: 5 * time.Second}
	if err := json.NewEncoder(n.in).Encode(spec); err != nil {
		n.t.Fatal(err)
	}
	var state load.State
	if n.read(&state); !state.Ready {
		n.t.Fatalf("%s: %s", at, state.Error)
	}
}

func (n *network) read(into any) {
	n.t.Helper()
	line, err := n.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		n.t.Fatalf("the load: %v", err)
	}
}
