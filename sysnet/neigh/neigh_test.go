package neigh_test

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/sysnet/neigh"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func watch(t *testing.T, addrs ...string) *neigh.Watcher {
	t.Helper()
	w, err := neigh.Watch(slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	want(w, addrs...)
	return w
}

func want(w *neigh.Watcher, addrs ...string) {
	var set []netip.Addr
	for _, a := range addrs {
		set = append(set, netip.MustParseAddr(a))
	}
	w.Want(set)
}

// await waits for a change signal until the next hop of the address satisfies fits.
func await(t *testing.T, w *neigh.Watcher, addr string, limit time.Duration, fits func(neigh.NextHop) bool) neigh.NextHop {
	t.Helper()
	for deadline := time.After(limit); ; {
		p, known := w.NextHops()[netip.MustParseAddr(addr)]
		if known && fits(p) {
			return p
		}
		select {
		case <-w.Changed():
		case <-deadline:
			t.Fatalf("after %s still: %v", limit, p)
		}
	}
}

func at(mac string) func(neigh.NextHop) bool {
	return func(p neigh.NextHop) bool { return p.Problem == "" && p.MAC.String() == mac }
}

func problem(part string) func(neigh.NextHop) bool {
	return func(p neigh.NextHop) bool { return strings.Contains(p.Problem, part) && p.MAC == neigh.MAC{} }
}

const serverMAC = "02:00:00:00:00:10"

func server(t *testing.T) (peer string) {
	peer = sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24", "2001:db8::1/64"}, []string{"192.0.2.10/24", "2001:db8::10/64"})
	sysnettest.IP(t, "-n "+peer+" link set v1 address "+serverMAC)
	return peer
}

func TestBackendsOnTheLinkAreResolved(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	server(t)
	i, err := net.InterfaceByName("v0")
	if err != nil {
		t.Fatal(err)
	}
	w := watch(t, "192.0.2.10", "2001:db8::10")
	for _, a := range []string{"192.0.2.10", "2001:db8::10"} {
		p := await(t, w, a, 10*time.Second, at(serverMAC))
		if p.Interface != "v0" || p.Index != i.Index || p.Own.String() != i.HardwareAddr.String() || !p.OnLink() {
			t.Errorf("%+v", p)
		}
	}
	want(w, "192.0.2.10")
	sysnettest.Eventually(t, func() (string, bool) { return fmt.Sprint(w.NextHops()), len(w.NextHops()) == 1 })
}

func TestBackendsBehindAGatewayUseItsMAC(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	server(t)
	sysnettest.IP(t, "route add 203.0.113.0/24 via 192.0.2.10")
	sysnettest.IP(t, "route add 2001:db8:9::/64 via 2001:db8::10")
	sysnettest.IP(t, "route add 198.51.100.0/24 via inet6 2001:db8::10 dev v0")
	w := watch(t, "203.0.113.5", "2001:db8:9::5", "198.51.100.5")
	for a, gateway := range map[string]string{"203.0.113.5": "192.0.2.10", "2001:db8:9::5": "2001:db8::10", "198.51.100.5": "2001:db8::10"} {
		if p := await(t, w, a, 10*time.Second, at(serverMAC)); p.Gateway.String() != gateway {
			t.Errorf("%+v", p)
		}
	}
}

func TestProblemsAreNamed(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	server(t)
	sysnettest.IP(t, "route add unreachable 198.51.100.0/24")
	sysnettest.IP(t, "route add 198.18.0.0/24 dev lo")
	sysnettest.IP(t, "route add 198.19.0.0/24 via 192.0.2.78")
	w := watch(t, "192.0.2.77", "203.0.113.1", "192.0.2.1", "127.0.0.2", "198.51.100.1", "192.0.2.255", "198.18.0.1", "198.19.0.1")
	await(t, w, "198.18.0.1", 10*time.Second, problem("interface lo has no MAC addresses"))
	await(t, w, "198.19.0.1", 10*time.Second, problem("the gateway 192.0.2.78 gives no answer to ARP or neighbour solicitation on v0"))
	await(t, w, "192.0.2.77", 10*time.Second, problem("no answer to ARP"))
	await(t, w, "203.0.113.1", 10*time.Second, problem("no route"))
	await(t, w, "192.0.2.1", 10*time.Second, problem("of this machine"))
	await(t, w, "127.0.0.2", 10*time.Second, problem("of this machine"))
	await(t, w, "198.51.100.1", 10*time.Second, problem("no route"))
	await(t, w, "192.0.2.255", 10*time.Second, problem("not the address of one host"))
}

func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	peer := server(t)
	w := watch(t, "192.0.2.10", "203.0.113.5")
	await(t, w, "192.0.2.10", 10*time.Second, at(serverMAC))
	await(t, w, "203.0.113.5", 10*time.Second, problem("no route"))
	sysnettest.IP(t, "route add 203.0.113.0/24 via 192.0.2.10")
	await(t, w, "203.0.113.5", 2*time.Second, at(serverMAC))

	// The server gets another MAC without an announcement.
	const other = "02:00:00:00:00:20"
	sysnettest.IP(t, "-n "+peer+" link set v1 address "+other)
	w.Want(nil)
	sysnettest.IP(t, "neigh flush dev v0")
	want(w, "192.0.2.10")
	await(t, w, "192.0.2.10", 10*time.Second, at(other))

	sysnettest.IP(t, "link set v0 down")
	await(t, w, "192.0.2.10", 2*time.Second, problem(""))
	sysnettest.IP(t, "link set v0 up")
	await(t, w, "192.0.2.10", 10*time.Second, at(other))
}

// The server dies. Its MAC is kept until the kernel has also tried broadcasts, and no
// longer.
func TestSilentBackendExpiresAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	peer := server(t)
	for _, set := range []string{"base_reachable_time_ms=200", "delay_first_probe_time=1", "retrans_time_ms=100"} {
		name, value, _ := strings.Cut(set, "=")
		sysnettest.Run(t, value, "tee", "/proc/sys/net/ipv4/neigh/v0/"+name)
	}
	w := watch(t, "192.0.2.10")
	await(t, w, "192.0.2.10", 10*time.Second, at(serverMAC))
	sysnettest.IP(t, "-n "+peer+" address del 192.0.2.10/24 dev v1")
	await(t, w, "192.0.2.10", 40*time.Second, problem("no answer"))
	sysnettest.IP(t, "-n "+peer+" address add 192.0.2.10/24 dev v1")
	await(t, w, "192.0.2.10", 10*time.Second, at(serverMAC))
}

func TestEntriesInUseAreKeptFresh(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	peer := server(t)
	for _, set := range []string{"base_reachable_time_ms=200", "delay_first_probe_time=1", "retrans_time_ms=100"} {
		name, value, _ := strings.Cut(set, "=")
		sysnettest.Run(t, value, "tee", "/proc/sys/net/ipv4/neigh/v0/"+name)
	}
	w := watch(t, "192.0.2.10")
	await(t, w, "192.0.2.10", 10*time.Second, at(serverMAC))
	// Another MAC, which only the probes of the watcher can detect.
	const other = "02:00:00:00:00:30"
	sysnettest.IP(t, "-n "+peer+" link set v1 address "+other)
	if p := await(t, w, "192.0.2.10", 40*time.Second, func(p neigh.NextHop) bool { return p.MAC.String() != serverMAC }); p.MAC.String() != other {
		t.Errorf("during the move to the other card: %v", p)
	}
}
