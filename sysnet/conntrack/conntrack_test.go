package conntrack_test

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	ct "github.com/ti-mo/conntrack"

	"github.com/sluicelb/sluice/sysnet/claim"
	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

const udp, tcp = 17, 6

// track adds an entry to the table of this namespace.
func track(t testing.TB, c *ct.Conn, protocol uint8, client string, port uint16, mark uint32, status ct.Status) {
	t.Helper()
	to := netip.MustParseAddr("192.0.2.1")
	from := netip.MustParseAddr(client)
	if from.Is6() {
		to = netip.MustParseAddr("2001:db8::1")
	}
	f := ct.NewFlow(protocol, status, from, to, port, 53, 600, mark)
	if protocol == tcp {
		f.ProtoInfo.TCP = &ct.ProtoInfoTCP{State: 3}
	}
	if err := c.Create(f); err != nil {
		t.Fatalf("making an entry: %v", err)
	}
}

func dial(t testing.TB) *ct.Conn {
	t.Helper()
	c, err := ct.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func total(t *testing.T, f conntrack.Filter) int {
	t.Helper()
	counts, err := conntrack.Count(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range counts {
		n += c.Total
	}
	return n
}

func TestFlushHitsOnlyTheMark(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	ours, other := conntrack.BackendMark(7), conntrack.BackendMark(8)
	for i := range uint16(20) {
		track(t, c, udp, "198.51.100.1", 1000+i, ours, 0)
		track(t, c, udp, "2001:db8::2", 1000+i, ours, 0)
		track(t, c, udp, "198.51.100.1", 2000+i, other, 0)
		track(t, c, udp, "198.51.100.1", 3000+i, 7, 0)          // foreign, the same lower bits
		track(t, c, udp, "198.51.100.1", 4000+i, 0xdc000007, 0) // foreign, ours with another bit
		track(t, c, udp, "198.51.100.1", 5000+i, 0, 0)          // foreign, no mark
	}
	n, err := conntrack.Flush(t.Context(), conntrack.Backend(7))
	if err != nil || n != 40 {
		t.Errorf("deleted %d, %v; want 40", n, err)
	}
	if n := total(t, conntrack.Backend(7)); n != 0 {
		t.Errorf("%d entries are left", n)
	}
	if n := total(t, conntrack.Filter{}); n != 80 {
		t.Errorf("%d other entries, want 80", n)
	}
	if n, err := conntrack.Flush(t.Context(), conntrack.Farms()); err != nil || n != 20 {
		t.Errorf("deleted %d of all farms, %v; want 20", n, err)
	}
	if n := total(t, conntrack.Filter{}); n != 60 {
		t.Errorf("%d foreign entries, want 60", n)
	}
}

func TestFlushOfOneFamilyLeavesTheOther(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	track(t, c, udp, "198.51.100.1", 1, conntrack.BackendMark(1), 0)
	track(t, c, udp, "2001:db8::2", 1, conntrack.BackendMark(1), 0)
	f := conntrack.Backend(1)
	f.Family = conntrack.IPv6
	if _, err := conntrack.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	page, err := conntrack.List(t.Context(), conntrack.Filter{}, nil, 10)
	if err != nil || len(page.Entries) != 1 || !page.Entries[0].Client.Addr().Is4() {
		t.Errorf("left: %+v, %v", page, err)
	}
}

func TestFlushRefusesForeignMarks(t *testing.T) {
	for _, f := range []conntrack.Filter{
		{}, {Mark: claim.FirstMark}, {Mark: 7, Mask: ^uint32(0)}, {Mark: claim.FirstMark, Mask: claim.MarkMask}, {Mark: claim.Slot(1).Mark(), Mask: claim.OwnMask}, {Mark: 7, Mask: 0xff},
	} {
		if _, err := conntrack.Flush(t.Context(), f); !errors.Is(err, conntrack.ErrNotOurs) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestPagesHoldEveryEntryOnce(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	const entries = 250
	for i := range uint16(entries) {
		track(t, c, udp, "198.51.100.1", 1000+i, conntrack.BackendMark(uint32(i%3)), 0)
	}
	track(t, c, tcp, "198.51.100.1", 1, conntrack.BackendMark(1), 0)
	track(t, c, udp, "198.51.100.1", 1, 0, 0)
	f := conntrack.Farms()
	f.Protocol = udp
	var after *conntrack.Entry
	seen := map[netip.AddrPort]int{}
	for pages := 1; ; pages++ {
		page, err := conntrack.List(t.Context(), f, after, 100)
		if err != nil {
			t.Fatal(err)
		}
		if page.Total != entries {
			t.Errorf("page %d: %d in total, want %d", pages, page.Total, entries)
		}
		for i := range page.Entries {
			seen[page.Entries[i].Client]++
			if i > 0 && conntrack.Compare(&page.Entries[i-1], &page.Entries[i]) >= 0 {
				t.Errorf("page %d is not in order at %d", pages, i)
			}
		}
		if !page.More {
			if pages != 3 {
				t.Errorf("%d pages, want 3", pages)
			}
			break
		}
		after = &page.Entries[len(page.Entries)-1]
	}
	for client, n := range seen {
		if n != 1 {
			t.Errorf("%s was listed %d times", client, n)
		}
	}
	if len(seen) != entries {
		t.Errorf("%d entries listed, want %d", len(seen), entries)
	}
}

func TestTrafficIsCountedByBackendAndState(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	sysnettest.Need(t, "nft")
	peer := sysnettest.Peer(t, "v0", "v1", []string{"192.0.2.1/24"}, []string{"192.0.2.2/24"})
	sysnettest.Run(t, `
		table inet t {
			chain out { type filter hook output priority -100; tcp dport 81 ct mark set 0x5c000007; tcp dport 82 ct mark set 0x5c000007; udp dport 53 ct mark set 0x5c000009; }
		}`, "nft", "-f", "-")
	sysnettest.Run(t, "table inet t {\n chain in { type filter hook input priority 0; tcp dport 82 drop; }\n}",
		"ip", "netns", "exec", peer, "nft", "-f", "-")
	l, err := net.Listen("tcp", "192.0.2.1:81")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		conn, err := net.Dial("tcp", "192.0.2.1:81")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	waiting := make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(waiting)
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "tcp", "192.0.2.2:82"); err == nil {
			_ = conn.Close()
		}
	}()
	query, err := net.Dial("udp", "192.0.2.2:53")
	if err != nil {
		t.Fatal(err)
	}
	defer query.Close()
	if _, err := query.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	want := map[uint32]conntrack.Counts{
		conntrack.BackendMark(7): {Total: 4, Established: 3, Pending: 1},
		conntrack.BackendMark(9): {Total: 1, Established: 1},
	}
	sysnettest.Eventually(t, func() (string, bool) {
		got, err := conntrack.Count(t.Context(), conntrack.Farms())
		if err != nil {
			t.Fatal(err)
		}
		return format(got), format(got) == format(want)
	})
	page, err := conntrack.List(t.Context(), conntrack.Backend(7), nil, 10)
	if err != nil || len(page.Entries) != 4 {
		t.Fatalf("%+v, %v", page, err)
	}
	states := map[string]int{}
	for _, e := range page.Entries {
		states[e.State]++
	}
	if states["established"] != 3 || states["syn_sent"] != 1 {
		t.Errorf("states %v", states)
	}
	u, err := conntrack.Used()
	if err != nil || u.Entries < 5 || u.Max < u.Entries || u.Full() {
		t.Errorf("%v, %v", u, err)
	}
}

func TestBackendsAreListedAndFlushedTogether(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	for i := range uint16(30) {
		track(t, c, udp, "198.51.100.1", 1000+i, conntrack.BackendMark(uint32(i%3)), 0)
	}
	track(t, c, udp, "198.51.100.1", 1, 0, 0)
	page, err := conntrack.List(t.Context(), conntrack.Backends([]uint32{0, 2}), nil, 5)
	if err != nil || page.Total != 20 || len(page.Entries) != 5 {
		t.Errorf("%d of %d, %v", len(page.Entries), page.Total, err)
	}
	if n, err := conntrack.FlushOnly(t.Context(), func(id uint32) bool { return id == 2 || id == 9 }); err != nil || n != 10 {
		t.Errorf("got %d deleted, %v, want 10", n, err)
	}
	if n := total(t, conntrack.Filter{}); n != 21 {
		t.Errorf("%d are left", n)
	}
}

// For many backends all entries are read, for few only their own.
func TestSomeBackendsAreCounted(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	for i := range uint32(40) {
		track(t, c, tcp, "198.51.100.1", uint16(1000+i), conntrack.BackendMark(i), 0)
	}
	for _, asked := range [][]uint32{nil, {1}, {3, 9}, {2, 3, 4, 5, 20}, {1, 3, 5, 7, 9, 11, 13}} {
		want := map[uint32]bool{}
		for _, id := range asked {
			want[id] = true
		}
		got, err := conntrack.CountOnly(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		for id := range want {
			if n := got[conntrack.BackendMark(id)]; n != (conntrack.Counts{Total: 1, Established: 1}) {
				t.Errorf("%v: backend %d has %+v", asked, id, n)
			}
		}
		if len(asked) < 6 && len(got) != len(asked) {
			t.Errorf("%v: %d backends were counted", asked, len(got))
		}
	}
}

// A farm with many backends is flushed as a few ranges of marks. Entries of other farms
// with marks in between stay.
func TestFlushKeepsBackendsInBetween(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	const backends = 3000
	for id := range uint32(backends) {
		track(t, c, udp, "198.51.100.1", uint16(1000+id), conntrack.BackendMark(id+1), 0)
	}
	track(t, c, udp, "198.51.100.1", 1, 77, 0)
	others := map[uint32]bool{1: true, 700: true, 1500: true, 2047: true, 2048: true, 3000: true}
	n, err := conntrack.FlushOnly(t.Context(), func(id uint32) bool { return !others[id] && id <= backends })
	if err != nil || n != backends-len(others) {
		t.Errorf("%d deleted, %v; want %d", n, err, backends-len(others))
	}
	counts, err := conntrack.Count(t.Context(), conntrack.Filter{})
	if err != nil || len(counts) != len(others)+1 || counts[77].Total != 1 {
		t.Errorf("left: %s, %v", format(counts), err)
	}
	for id := range others {
		if counts[conntrack.BackendMark(id)].Total != 1 {
			t.Errorf("the connection to backend %d is gone", id)
		}
	}
}
