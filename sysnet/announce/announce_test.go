package announce_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/sysnet/addr"
	"github.com/sluicelb/sluice/sysnet/announce"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A neighbour that has a stale entry for the addresses learns the new one without a
// request.
func TestNeighboursLearnTheAddress(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	peer := sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24", "2001:db8::1/64"}, []string{"192.0.2.2/24", "2001:db8::2/64"})
	vips := []string{"192.0.2.1", "2001:db8::1"}
	for _, vip := range vips {
		sysnettest.IP(t, "-n "+peer+" neigh replace "+vip+" lladdr 02:00:00:00:00:99 dev v1 nud stale")
	}
	iface, err := net.InterfaceByName("v0")
	if err != nil {
		t.Fatal(err)
	}
	a := announce.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer a.Close()
	a.Keep([]netip.Addr{netip.MustParseAddr(vips[0]), netip.MustParseAddr(vips[1]), netip.MustParseAddr("127.0.0.1"), netip.IPv4Unspecified()})
	for _, vip := range vips {
		sysnettest.Eventually(t, func() (string, bool) {
			known := sysnettest.IP(t, "-n "+peer+" neigh show "+vip)
			return known, strings.Contains(known, iface.HardwareAddr.String())
		})
	}
	sysnettest.Eventually(t, func() (string, bool) {
		l := a.List()
		done := len(l) == 2
		for _, k := range l {
			done = done && k.Rounds == 3 && k.Interface == "v0" && k.Problem == ""
		}
		return fmt.Sprintf("%+v", l), done
	})
	added := netip.MustParseAddr(vips[0])
	a.Add(added)
	a.Add(added)
	a.Keep(nil)
	a.Drop(added)
	if l := a.List(); len(l) != 1 || l[0].Addr != added || l[0].Rounds != 3 {
		t.Errorf("list: %+v, want just the added address, to be announced again", l)
	}
	a.Drop(added)
	if l := a.List(); len(l) != 0 {
		t.Errorf("still kept: %+v", l)
	}
	a.Drop(added) // once too often, which is no debt
	a.Add(added)
	a.Keep([]netip.Addr{added})
	a.Keep(nil)
	if l := a.List(); len(l) != 1 {
		t.Errorf("list: %+v, want just the added address", l)
	}
}

func TestAnnounceErrorsHaveAReason(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.IP(t, "link add v0 type veth peer name v1")
	sysnettest.IP(t, "address add 192.0.2.1/24 dev v0")
	sysnettest.IP(t, "address add 192.0.2.9/32 dev lo")
	if err := announce.Send(netip.MustParseAddr("192.0.2.1")); !errors.Is(err, addr.ErrDown) {
		t.Errorf("an interface that is down: %v", err)
	}
	if err := announce.Send(netip.MustParseAddr("192.0.2.5")); !errors.Is(err, addr.ErrNotLocal) {
		t.Errorf("a foreign address: %v", err)
	}
	if err := announce.Send(netip.MustParseAddr("192.0.2.9")); err == nil || !strings.Contains(err.Error(), "no MAC") {
		t.Errorf("an address of the loopback interface: %v", err)
	}
}

// An address may appear long after its farm, e.g. when the interface is plugged in or
// another machine releases it.
func TestLaterAddressesAreAnnounced(t *testing.T) {
	t.Parallel()
	if !sysnettest.Inside(t) {
		return
	}
	peer := sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24"}, []string{"192.0.2.2/24"})
	const vip = "192.0.2.7"
	a := announce.New(slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer a.Close()
	a.Keep([]netip.Addr{netip.MustParseAddr(vip)})
	for round := range 2 { // it comes, goes, and comes back
		before := a.List()[0].Rounds
		time.Sleep(announce.Rounds * announce.Interval) // as long as it is tried
		a.Again()
		if l := a.List(); l[0].Problem == "" || l[0].Rounds != before {
			t.Errorf("round %d, without the address: %+v", round, l)
		}
		sysnettest.IP(t, "-n "+peer+" neigh replace "+vip+" lladdr 02:00:00:00:00:99 dev v1 nud stale")
		sysnettest.IP(t, "address add "+vip+"/32 dev v0")
		a.Again()
		sysnettest.Eventually(t, func() (string, bool) {
			a.Again() // which is no second time
			l := a.List()
			return fmt.Sprintf("%+v", l), l[0].Rounds == before+3 && l[0].Problem == "" && l[0].Interface == "v0"
		})
		if known := sysnettest.IP(t, "-n "+peer+" neigh show "+vip); strings.Contains(known, "02:00:00:00:00:99") {
			t.Errorf("round %d: the neighbour still knows %s", round, known)
		}
		sysnettest.IP(t, "address del "+vip+"/32 dev v0")
	}
}
