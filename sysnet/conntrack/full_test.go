package conntrack_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	ct "github.com/ti-mo/conntrack"

	"github.com/sluicelb/sluice/sysnet/conntrack"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func format(counts map[uint32]conntrack.Counts) string {
	var lines []string
	for mark, c := range counts {
		lines = append(lines, fmt.Sprintf("%#x: %+v", mark, c))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// The limit applies to the whole machine, and a namespace cannot lower it. The test fills
// the table up to the limit.
func TestFullTableIsCountedAndFlushed(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a table: not in short runs")
	}
	if !sysnettest.Inside(t) {
		return
	}
	c := dial(t)
	// A full table drops entries without the assured flag.
	track(t, c, udp, "198.51.100.1", 1, conntrack.BackendMark(1), ct.StatusConfirmed|ct.StatusAssured|ct.StatusSeenReply)
	u, err := conntrack.Used()
	if err != nil {
		t.Fatal(err)
	}
	if u.Max > 300_000 {
		t.Skipf("the table takes %d entries, too many to fill", u.Max)
	}
	const hosts = 8
	per := (u.Max-1)/hosts + 1
	full := false
	for i := range per * hosts {
		mark := uint32(0)
		if i%2 == 0 {
			mark = conntrack.BackendMark(2)
		}
		f := ct.NewFlow(udp, ct.StatusConfirmed|ct.StatusAssured|ct.StatusSeenReply, addr(i/per), addr(100), uint16(i%per), 53, 600, mark)
		if err := c.Create(f); err != nil {
			full = true
			break
		}
	}
	u, err = conntrack.Used()
	if err != nil || !u.Full() {
		t.Fatalf("%v, %v (refused: %v); want a full table", u, err, full)
	}
	before := u.Entries
	counts, err := conntrack.Count(t.Context(), conntrack.Farms())
	if err != nil || counts[conntrack.BackendMark(1)].Total != 1 || counts[conntrack.BackendMark(2)].Total < before/2-2 {
		t.Errorf("%s, %v", format(counts), err)
	}
	page, err := conntrack.List(t.Context(), conntrack.Farms(), nil, 100)
	if err != nil || len(page.Entries) != 100 || !page.More || page.Total < before/2-2 {
		t.Errorf("%d listed, %d in total, %v", len(page.Entries), page.Total, err)
	}
	if n, err := conntrack.Flush(t.Context(), conntrack.Backend(2)); err != nil || n < before/2-2 {
		t.Errorf("%d deleted, %v", n, err)
	}
	if u, err := conntrack.Used(); err != nil || u.Full() || u.Entries < before/2-2 {
		t.Errorf("afterwards %v, %v", u, err)
	}
}

func addr(host int) netip.Addr { return netip.AddrFrom4([4]byte{198, 51, 100, byte(host)}) }
