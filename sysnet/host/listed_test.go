package host_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/host"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// objectLines returns all our objects, one line each: "kind name: detail".
func objectLines(t *testing.T, h *host.Host) string {
	t.Helper()
	list, err := h.Objects(t.Context(), &fakeFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range list {
		b.WriteString(o.Kind + " " + o.Name + ": " + o.Detail + "\n")
	}
	return b.String()
}

func TestListedSettingsShowOldAndNewValues(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	write := func(name, v string) {
		t.Helper()
		if err := os.WriteFile("/proc/sys/net/"+name, []byte(v), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("ipv4/ip_forward", "0")
	h := host.New(journal, quiet)
	defer h.Close()
	through := l4(farm.NATTarget, "192.0.2.9") // the listener reports its missing address
	through.ID, through.L4.DataPath, through.L4.Ports = 8, farm.DataPathUserspace, []farm.PortRange{{First: 80, Last: 80}}
	farms := []farm.Farm{l4(farm.NATMasquerade, "192.0.2.1"), through}
	if p := h.Prepare(t.Context(), farms); len(p) != 0 {
		t.Errorf("problems %v", p)
	}
	h.Heard(netip.MustParseAddrPort("203.0.113.5:80"), true)
	says := func(lines ...string) {
		t.Helper()
		sysnettest.Eventually(t, func() (string, bool) {
			all := objectLines(t, h)
			for _, line := range lines {
				if !strings.Contains("\n"+all, "\n"+line) {
					return "missing: " + line + " in\n" + all, false
				}
			}
			return "", true
		})
	}
	says("table inet sluice: \n", "sysctl net/ipv4/ip_forward: 1, was 0\n", "firewall iptables-nft: -A FORWARD -m connmark --mark 0x5c000000/0xff000000 -m comment --comment sluice-farms -j ACCEPT\n",
		"route rule 5190 IPv4: packets with mark 0x5d000001 are looked up in table 23901\n", "route table 23901 IPv4: all addresses are local\n",
		"address 192.0.2.1: announced 3 times on v0\n", "address 203.0.113.5: not announced: no interface of this machine has the address 203.0.113.5",
		"connections mark 0x5c000000/0xfff00000: 2, to 2 backends; 3 of ")
	write("ipv4/ip_forward", "0")
	says("sysctl net/ipv4/ip_forward: set to 1, was 0, is 0 now\n")
	h.Heard(netip.MustParseAddrPort("203.0.113.5:80"), false)
	if all := objectLines(t, h); strings.Contains(all, "203.0.113.5") || !strings.Contains(all, "192.0.2.1") {
		t.Errorf("a closed address is listed:\n%s", all)
	}
	if _, err := conntrack.Flush(t.Context(), conntrack.Farms()); err != nil {
		t.Fatal(err)
	}
	if all := objectLines(t, h); strings.Contains(all, "connections") {
		t.Errorf("connections there are none of are listed:\n%s", all)
	}
	if gone, err := h.Clean(t.Context(), &fakeFilter{}); err != nil || len(gone) == 0 {
		t.Errorf("gone %v, %v", gone, err)
	}
	h.Prepare(t.Context(), farms) // after Clean, Prepare applies the same farms again
	says("sysctl net/ipv4/ip_forward: 1, was 0\n")
}

// broken is a filter whose Objects and Clean fail.
type broken struct{ fakeFilter }

func (*broken) Objects(context.Context) ([]ctl.KernelObject, error) {
	return []ctl.KernelObject{{Kind: "table", Name: "inet half"}}, errors.New("half of it cannot be read")
}
func (*broken) Clean(context.Context) error { return errors.New("it stays") }

func TestFailuresDoNotStopListingAndRemoval(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	before := state(t)
	h := host.New(journal, quiet)
	defer h.Close()
	h.Prepare(t.Context(), []farm.Farm{l4(farm.NATMasquerade, "192.0.2.1")})
	list, err := h.Objects(t.Context(), &broken{})
	if len(list) < 4 || list[0].Name != "inet half" || err == nil || err.Error() != "half of it cannot be read" {
		t.Errorf("listed %v, %v", list, err)
	}
	gone, err := h.Clean(t.Context(), &broken{})
	if len(gone) != len(list)-1 || err == nil || !strings.Contains(err.Error(), "it stays") || !strings.Contains(err.Error(), "half of it") {
		t.Errorf("gone %v of %v, %v", gone, list, err)
	}
	if after := state(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestConnectionsAreCountedWithoutListing(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := host.New(machine(t), quiet)
	defer h.Close()
	netd := ask(t, h, &fakeFilter{})
	most := make([]uint32, ctl.MaxBackends)
	for i := range most {
		most[i] = 1<<20 - 1 - uint32(i)
	}
	for what, c := range map[string]struct {
		q                ctl.BackendConnections
		entries, sum     int
		more, someListed bool
	}{
		"of all":      {ctl.BackendConnections{}, 0, 2, true, false},
		"of one":      {ctl.BackendConnections{Backends: []uint32{1}}, 0, 1, true, false},
		"of none":     {ctl.BackendConnections{Backends: most}, 0, 0, false, false},
		"many of all": {ctl.BackendConnections{Limit: conntrack.MaxListed}, 2, 2, false, true},
	} {
		var page conntrack.Page
		if err := netd.Ask(t.Context(), ctl.OpConnections, c.q, &page); err != nil || len(page.Entries) != c.entries || page.Total != c.sum || page.More != c.more {
			t.Errorf("%s: %+v, %v", what, page, err)
		}
	}
	for _, q := range []ctl.BackendConnections{{Limit: conntrack.MaxListed + 1}, {Backends: append(most, 1)}, {Backends: []uint32{1 << 20}}} {
		var refused *ctl.Error
		if err := netd.Ask(t.Context(), ctl.OpFlushConnections, q, nil); q.Limit == 0 && (!errors.As(err, &refused) || refused.Code != ctl.CodeInvalid) {
			t.Errorf("%d backends: %v", len(q.Backends), err)
		}
	}
}

// Without a journal, only the old values are lost with the process.
func TestUnusableJournalIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for want, journal := range map[string]*os.File{"there is none": nil, "file already closed": closed} {
		var log logtest.Log
		h := host.New(journal, slog.New(slog.NewTextHandler(&log, nil)))
		h.Close()
		if lines := log.Lines("cannot be given back"); len(lines) != 1 || !strings.Contains(lines[0], want) {
			t.Errorf("the log is %s, want %s", log.String(), want)
		}
	}
}
