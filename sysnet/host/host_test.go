package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	ct "github.com/ti-mo/conntrack"
	"go.uber.org/goleak"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/ctl"
	"github.com/sluicelb/sluice/sysnet/ctl/ctltest"
	"github.com/sluicelb/sluice/sysnet/host"
	"github.com/sluicelb/sluice/sysnet/nft"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// fakeFilter has a table until Clean, and records the backends passed to Flushing.
type fakeFilter struct {
	cleaned bool

	mu    sync.Mutex
	ended []uint32 // IDs below ten
}

func (c *fakeFilter) Flushing(_ context.Context, meant func(backend uint32) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range uint32(10) {
		if meant(id) {
			c.ended = append(c.ended, id)
		}
	}
}

// said returns the backends that Flushing has announced.
func (c *fakeFilter) said() []uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ended)
}

func (c *fakeFilter) Objects(context.Context) ([]ctl.KernelObject, error) {
	if c.cleaned {
		return nil, nil
	}
	return []ctl.KernelObject{{Kind: "table", Name: "inet sluice"}}, nil
}
func (c *fakeFilter) Clean(context.Context) error { c.cleaned = true; return nil }

// denied may not read the packet filter.
type denied struct{ fakeFilter }

func (*denied) Objects(context.Context) ([]ctl.KernelObject, error) {
	return nil, fmt.Errorf("packet filter: %w", nft.ErrNotPermitted)
}

func TestMissingRootIsReportedOnce(t *testing.T) {
	h, c := host.New(nil, quiet), &denied{}
	defer h.Close()
	for name, ask := range map[string]func(context.Context, host.KernelFarms) ([]ctl.KernelObject, error){"list": h.Objects, "clean": h.Clean} {
		if list, err := ask(t.Context(), c); len(list) != 0 || err == nil || err.Error() != "packet filter: "+nft.ErrNotPermitted.Error() {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
	if c.cleaned {
		t.Error("cleaned without the right to")
	}
}

func l4(nat farm.NATType, vip string) farm.Farm {
	l := farm.DefaultL4()
	l.NAT = nat
	return farm.Farm{ID: 7, Name: "f", Profile: farm.ProfileL4, VIP: netip.MustParseAddr(vip), L4: l}
}

// machine sets up a namespace with an address, a firewall that drops, and connections of
// farms and others.
func machine(t *testing.T) (journal *os.File) {
	t.Helper()
	sysnettest.Need(t, "nft", "iptables-nft")
	sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24", "2001:db8::1/64"}, []string{"192.0.2.2/24"})
	sysnettest.Eventually(t, func() (string, bool) { // the kernel adds the link-local address and its routes asynchronously
		seen := sysnettest.IP(t, "-6 route show table local dev v0")
		return seen, strings.Contains(seen, "local fe80:")
	})
	for _, program := range []string{"iptables-nft", "ip6tables-nft"} {
		sysnettest.Run(t, "", program, "-P", "FORWARD", "DROP")
	}
	c, err := ct.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, mark := range []uint32{conntrack.BackendMark(1), conntrack.BackendMark(2), 7} {
		f := ct.NewFlow(17, 0, netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("192.0.2.1"), uint16(1+i), 53, 600, mark)
		if err := c.Create(f); err != nil {
			t.Fatal(err)
		}
	}
	journal, err = os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	return journal
}

func state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(sysnettest.Run(t, "", "nft", "list", "ruleset") + sysnettest.IP(t, "rule show") + sysnettest.IP(t, "route show table all"))
	for _, name := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding", "ipv4/conf/v0/forwarding", "netfilter/nf_conntrack_acct"} {
		v, err := os.ReadFile("/proc/sys/net/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(name + " " + string(v))
	}
	return b.String()
}

// ask serves the parts of the host as netd does and returns a client.
func ask(t *testing.T, h *host.Host, c host.KernelFarms) *ctl.Client {
	t.Helper()
	return ctltest.Client(t, ctltest.Serve(t, ctltest.Self(), h.Parts(c)))
}

func kinds(list []ctl.KernelObject) (out []string) {
	for _, o := range list {
		if !slices.Contains(out, o.Kind) {
			out = append(out, o.Kind)
		}
	}
	slices.Sort(out)
	return out
}

func TestSettingsAreListedAndRemoved(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	before := state(t)
	h := host.New(journal, quiet)
	defer h.Close()
	through := l4(farm.NATTarget, "192.0.2.1")
	through.L4.DataPath, through.L4.Ports = farm.DataPathUserspace, []farm.PortRange{{First: 80, Last: 80}}
	farms := []farm.Farm{l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATStateless, "2001:db8::1"), through}
	for range 2 {
		if p := h.Prepare(t.Context(), farms); len(p) != 0 {
			t.Errorf("problems %v", p)
		}
	}
	c := &fakeFilter{}
	netd := ask(t, h, c)
	list, err := netd.SystemObjects(t.Context())
	if want := []string{"address", "connections", "firewall", "route", "sysctl", "table"}; err != nil || !slices.Equal(kinds(list), want) {
		t.Errorf("%v, %v; want %v", list, err, want)
	}
	gone, err := h.Clean(t.Context(), c)
	if err != nil || len(gone) != len(list) || !c.cleaned {
		t.Errorf("gone %v, %v; listed were %v", gone, err, list)
	}
	if list, err := netd.SystemObjects(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if after := state(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	counts, err := conntrack.Count(t.Context(), conntrack.Filter{})
	if err != nil || len(counts) != 1 || counts[7].Total != 1 {
		t.Errorf("connections left: %v, %v", counts, err)
	}
}

// The previous process was killed. Everything that it left is found and reverted.
func TestNextProcessRevertsUnneededSettings(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	before := state(t)
	first := host.New(journal, quiet)
	first.Prepare(t.Context(), []farm.Farm{l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATTarget, "2001:db8::1")})
	first.Close()
	if state(t) == before {
		t.Fatal("no setting was changed")
	}
	second := host.New(journal, quiet)
	defer second.Close()
	second.Prepare(t.Context(), []farm.Farm{l4(farm.NATDirect, "192.0.2.1")}) // needs none of it
	if after := state(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func TestMissingAddressIsAFarmProblem(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := host.New(machine(t), quiet)
	defer h.Close()
	p := h.Prepare(t.Context(), []farm.Farm{l4(farm.NATMasquerade, "203.0.113.1")})
	if !strings.Contains(p[7], "no interface of this machine has the address 203.0.113.1") {
		t.Errorf("problems %v", p)
	}
}

func TestConnectionsOfBackendsAreListedAndFlushed(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := host.New(machine(t), quiet)
	defer h.Close()
	farms := &fakeFilter{}
	netd := ask(t, h, farms)
	page, err := netd.Connections(t.Context(), nil, 100)
	if err != nil || page.Total != 2 || len(page.Entries) != 2 {
		t.Errorf("of all farms: %+v, %v", page, err)
	}
	many := make([]uint32, 2*ctl.MaxBackends)
	for i := range many {
		many[i] = uint32(i + 2)
	}
	page, err = netd.Connections(t.Context(), many, 100)
	if err != nil || page.Total != 1 || page.Entries[0].Mark != conntrack.BackendMark(2) || page.Entries[0].Client.Port() != 2 {
		t.Errorf("of 600 backends: %+v, %v", page, err)
	}
	if page, err := netd.Connections(t.Context(), nil, 1); err != nil || !page.More || len(page.Entries) != 1 {
		t.Errorf("one of two: %+v, %v", page, err)
	}
	if n, err := netd.FlushConnections(t.Context(), []uint32{2, 9}); err != nil || n != 1 || !slices.Equal(farms.said(), []uint32{2, 9}) {
		t.Errorf("flushed %d, %v; reported as ended %v", n, err, farms.said())
	}
	if n, err := netd.FlushConnections(t.Context(), nil); err != nil || n != 1 || len(farms.said()) != 12 {
		t.Errorf("flushed %d of all, %v", n, err)
	}
	if u, err := netd.ConnectionsUsed(t.Context()); err != nil || u.Entries != 1 {
		t.Errorf("%v, %v", u, err)
	}
	for _, q := range []ctl.BackendConnections{{Backends: []uint32{0}}, {Backends: []uint32{1 << 24}}, {Limit: -1}, {Limit: 1 << 20}, {Backends: make([]uint32, ctl.MaxBackends+1)}} {
		if err := netd.Ask(t.Context(), ctl.OpConnections, q, nil); !errors.Is(err, ctl.ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// An nft table belongs to its owner: the warning names it, and it stays unchanged.
func TestUnchangeableFirewallIsAFarmWarning(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet strict {\n chain forward { type filter hook forward priority 0; policy drop; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	nat, direct := l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATDirect, "192.0.2.1")
	if p := h.Prepare(t.Context(), []farm.Farm{nat, direct}); len(p) != 0 {
		t.Errorf("problems %v", p)
	}
	if w := h.Warnings(&nat); len(w) != 1 || !strings.Contains(w[0], "chain forward of table inet strict drops") {
		t.Errorf("warnings %q", w)
	}
	if w := h.Warnings(&direct); len(w) != 0 {
		t.Errorf("warnings of dsr %q", w)
	}
	list, err := h.Objects(t.Context(), &fakeFilter{})
	if err != nil || !slices.Contains(kinds(list), "warning") {
		t.Errorf("%v, %v", list, err)
	}
	h.Prepare(t.Context(), nil)
	if w := h.Warnings(&nat); len(w) != 0 {
		t.Errorf("without farms %q", w)
	}
}

// A rule of the operator that precedes ours drops packets to one backend. It is reported
// for the farms that have it.
func TestRuleDroppingABackendIsAFarmWarning(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet own {\n chain forward { type filter hook forward priority 0; tcp dport 8080 drop; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	web, other, direct := l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATDirect, "192.0.2.1")
	web.L4.Backends = []farm.Backend{{ID: 1}, {ID: 2, Addr: netip.MustParseAddr("10.0.0.1"), Port: 8080}}
	other.ID, direct.ID = web.ID+1, web.ID+2
	other.L4.Backends, direct.L4.Backends = []farm.Backend{{ID: 3, Addr: netip.MustParseAddr("10.0.0.1"), Port: 80}}, web.L4.Backends
	h.Prepare(t.Context(), []farm.Farm{web, other, direct})
	if w := h.Warnings(&web); len(w) != 1 || !strings.Contains(w[0], "inet own forward drops its packets to 10.0.0.1:8080 (tcp)") {
		t.Errorf("warnings %q", w)
	}
	for _, f := range []farm.Farm{other, direct} {
		if w := h.Warnings(&f); len(w) != 0 {
			t.Errorf("farm %d: warnings %q", f.ID, w)
		}
	}
}

// Firewalls are read again as soon as a farm has other backends.
func TestFirewallsAreReadForNewDestinations(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet own {\n chain forward { type filter hook forward priority 0; tcp dport 8080 drop; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	other := l4(farm.NATMasquerade, "192.0.2.1")
	other.ID++
	prepared := func(edit func(f *farm.Farm)) (warnings []string) {
		f := l4(farm.NATMasquerade, "192.0.2.1")
		edit(&f)
		h.Prepare(t.Context(), []farm.Farm{f, other})
		return h.Warnings(&f)
	}
	to := func(vip string, ports ...uint16) func(f *farm.Farm) {
		return func(f *farm.Farm) {
			f.VIP = netip.MustParseAddr(vip)
			for i, port := range ports {
				f.L4.Backends = append(f.L4.Backends, farm.Backend{ID: uint32(1 + i), Addr: netip.MustParseAddr("10.0.0.1"), Port: port})
			}
		}
	}
	for _, c := range []struct {
		what string
		edit func(f *farm.Farm)
		want string
	}{
		{"without backends", to("192.0.2.1"), ""},
		{"another VIP and a backend", to("192.0.2.7", 8080), "10.0.0.1:8080"},
		{"another port", to("192.0.2.7", 80), ""},
		{"one more backend", to("192.0.2.7", 80, 8080), "10.0.0.1:8080"},
		{"one backend less", to("192.0.2.7", 80), ""},
		{"the backend again", to("192.0.2.7", 8080), "10.0.0.1:8080"},
		{"a farm whose packets pass no firewall", func(f *farm.Farm) { to("192.0.2.7", 8080)(f); f.L4.NAT = farm.NATDirect }, ""},
	} {
		if w := prepared(c.edit); (len(w) > 0) != (c.want != "") || c.want != "" && !strings.Contains(w[0], c.want) {
			t.Errorf("%s: warnings %q, want %q", c.what, w, c.want)
		}
	}
}

// Firewalls are read for a new farm. If one is gone, only its address is withdrawn.
func TestChangedFarmIsPreparedAlone(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet own {\n chain forward { type filter hook forward priority 0; tcp dport 8080 drop; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	netd := ask(t, h, &fakeFilter{})
	one, two := l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATMasquerade, "192.0.2.1")
	two.ID = one.ID + 1
	two.L4.Backends = []farm.Backend{{ID: 2, Addr: netip.MustParseAddr("10.0.0.1"), Port: 8080}}
	announced := func() (n int) {
		t.Helper()
		list, err := netd.SystemObjects(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list {
			if o.Kind == "address" {
				n++
			}
		}
		return n
	}
	six := l4(farm.NATDirect, "2001:db8::1")
	six.ID = one.ID + 2
	h.Prepare(t.Context(), []farm.Farm{one, six})
	if n := announced(); n != 2 {
		t.Errorf("%d addresses are announced", n)
	}
	h.Prepare(t.Context(), []farm.Farm{one, six, two})
	if w := h.Warnings(&two); len(w) != 1 {
		t.Errorf("warnings about a farm that is new: %q", w)
	}
	sysnettest.Run(t, "", "nft", "flush chain inet own forward")
	h.Prepare(t.Context(), []farm.Farm{one, two})
	if n := announced(); n != 1 {
		t.Errorf("%d addresses are announced, and one farm is gone", n)
	}
	if w := h.Warnings(&two); len(w) != 1 {
		t.Errorf("firewalls were read although a farm is only gone: %q", w)
	}
	three := two
	three.ID = two.ID + 1
	h.Prepare(t.Context(), []farm.Farm{one, two, three})
	if w := h.Warnings(&two); len(w) != 0 {
		t.Errorf("firewalls were not read for a farm that is new: %q", w)
	}
}

// The owner has added the rule for one kind of farm. Only farms of the other kind are
// warned.
func TestFirewallWarningsConcernDroppedFarms(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet strict {\n chain forward { type filter hook forward priority 0; policy drop; ct mark and 0xff000000 == 0x5c000000 accept; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	nat, stateless := l4(farm.NATMasquerade, "192.0.2.1"), l4(farm.NATStateless, "192.0.2.1")
	h.Prepare(t.Context(), []farm.Farm{nat})
	if w := h.Warnings(&nat); len(w) != 0 {
		t.Errorf("of nat %q", w)
	}
	h.Prepare(t.Context(), []farm.Farm{nat, stateless})
	if w := h.Warnings(&stateless); len(w) != 1 || !strings.HasSuffix(w[0], `may add the rule "meta mark and 0xff000000 == 0x5c000000 accept"`) {
		t.Errorf("of stateless_dnat %q", w)
	}
	if w := h.Warnings(&nat); len(w) != 0 {
		t.Errorf("warnings of the nat farm: %q", w)
	}
	sysnettest.Run(t, "", "nft", "add rule inet strict forward meta mark and 0xff000000 == 0x5c000000 accept")
	h.Prepare(t.Context(), nil)
	h.Prepare(t.Context(), []farm.Farm{nat, stateless})
	if w := h.Warnings(&stateless); len(w) != 0 {
		t.Errorf("with both rules %q", w)
	}
}

// Packets of stateless_dnat to backends do not pass the firewall.
func TestBackendRuleConcernsForwardedFarms(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	journal := machine(t)
	sysnettest.Run(t, "table inet strict {\n chain forward { type filter hook forward priority 0; ip daddr 198.51.100.0/24 drop; }\n}", "nft", "-f", "-")
	h := host.New(journal, quiet)
	defer h.Close()
	var farms []farm.Farm
	for i, nat := range []farm.NATType{farm.NATMasquerade, farm.NATTarget, farm.NATStateless} {
		f := l4(nat, "192.0.2.1")
		f.ID = uint32(i + 1)
		f.L4.Backends = []farm.Backend{{ID: f.ID, Addr: netip.MustParseAddr("198.51.100.7"), Port: 8080}}
		farms = append(farms, f)
	}
	h.Prepare(t.Context(), farms)
	for i := range farms {
		if w := h.Warnings(&farms[i]); (len(w) == 0) != (farms[i].L4.NAT == farm.NATStateless) {
			t.Errorf("%s: %q", farms[i].L4.NAT, w)
		}
	}
}

func TestFirewallsDroppingClientsAreReported(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	h := host.New(machine(t), quiet)
	defer h.Close()
	c := ask(t, h, &fakeFilter{})
	farms := ctl.FarmKeys{3: {"tcp/192.0.2.1:8080", "udp/192.0.2.1:8080"}, 4: {"tcp/192.0.2.1:22"}, 5: {"tcp/[2001:db8::1]:8080"}}
	for range 9000 { // exceeds one message
		farms[4] = append(farms[4], "tcp/192.0.2.1:22")
	}
	if d, err := c.InputDropped(t.Context(), farms); err != nil || len(d) != 0 {
		t.Errorf("without a firewall: %v, %v", d, err)
	}
	sysnettest.Run(t, "table ip strict {\n chain input { type filter hook input priority 0; policy drop; tcp dport 22 accept; }\n}", "nft", "-f", "-")
	d, err := c.InputDropped(t.Context(), farms)
	if want := []string{`ip strict input drops it: rules such as "tcp dport 8080 accept", "udp dport 8080 accept" are missing`}; err != nil || len(d) != 1 || !slices.Equal(d[3], want) {
		t.Errorf("%v, %v", d, err)
	}
	if _, err := c.InputDropped(t.Context(), ctl.FarmKeys{3: {"192.0.2.1:80"}}); !errors.Is(err, ctl.ErrInvalid) {
		t.Errorf("an invalid key: %v", err)
	}
	if err := c.Ask(t.Context(), ctl.OpInputDropped, struct{}{}, nil); !errors.Is(err, ctl.ErrInvalid) {
		t.Errorf("without listeners: %v", err)
	}
}
