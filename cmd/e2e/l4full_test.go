package e2e_test

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ti-mo/conntrack"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// fullTable creates tracked connections on the appliance until the table is full. The limit
// applies to all namespaces and cannot be lowered in one. The connections are assured and
// new, so that they are not evicted. Other connections end over time, especially closed
// ones, and leave room that must be filled again.
type fullTable struct {
	t    *testing.T
	conn *conntrack.Conn
	made int
}

// fullMark is the mark of those connections.
const fullMark = 7

func fillTable(t *testing.T, n *housetest.Namespace) *fullTable {
	t.Helper()
	f := &fullTable{t: t}
	var err error
	n.Do(func() { f.conn, err = conntrack.Dial(nil) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.conn.Close() })
	f.fill()
	return f
}

func (f *fullTable) fill() {
	f.t.Helper()
	const most = 1 << 19
	for ; f.made < most; f.made++ {
		from := netip.AddrFrom4([4]byte{198, 51, 100, byte(f.made >> 16)})
		flow := conntrack.NewFlow(17, conntrack.StatusConfirmed|conntrack.StatusAssured|conntrack.StatusSeenReply, from, netip.MustParseAddr("192.0.2.1"), uint16(f.made), 53, 600, fullMark)
		switch err := f.conn.Create(flow); {
		case errors.Is(err, syscall.ENOMEM):
			return
		case err != nil:
			f.t.Fatal(err)
		}
	}
	f.t.Skip("the table of connections is too large to fill")
}

// empty ends these connections.
func (f *fullTable) empty() {
	f.t.Helper()
	if err := f.conn.FlushFilter(conntrack.NewFilter().Mark(fullMark).MarkMask(^uint32(0))); err != nil {
		f.t.Fatal(err)
	}
}

func TestFullConnectionTableKeepsExistingConnections(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	if testing.Short() {
		t.Skip("fills a table: not in short runs")
	}
	m := newModes(t)
	kernel := m.kernelFarms(true)
	var open []*housetest.Answer
	for _, f := range kernel {
		a, err := m.Client.Ask(f.network, netip.AddrPort{}, f.to)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for range 3 { // incomplete connections may be evicted
			if err := a.Again("in use"); err != nil {
				t.Fatal(err)
			}
		}
		open = append(open, a)
	}
	table := fillTable(t, m.Appliance)
	for i, a := range open {
		f := kernel[i]
		if err := a.Again("still here"); err != nil {
			t.Errorf("%s: %v", f.name, err)
		}
		table.fill()
		if strings.HasPrefix(f.name, "dsr") || strings.HasPrefix(f.name, "stateless") {
			if err := m.once(f, 2*time.Second); err != nil {
				t.Errorf("%s has no tracked connections, but new ones fail: %v", f.name, err)
			}
			continue
		}
		// The client may get the entry of one that just ended.
		for tries := 10; m.once(f, 300*time.Millisecond) == nil; table.fill() {
			if tries--; tries == 0 {
				t.Errorf("%s: new connections were made again and again: the table was not full", f.name)
				break
			}
		}
	}
	table.fill()
	for i, a := range open {
		if err := a.Again("and still"); err != nil {
			t.Errorf("%s: %v", kernel[i].name, err)
		}
	}
	table.empty()
	for i, f := range kernel {
		if err := m.once(f, 2*time.Second); err != nil {
			t.Errorf("afterwards: %s: %v", f.name, err)
		}
		if err := open[i].Again("and here"); err != nil {
			t.Errorf("afterwards: %s: %v", f.name, err)
		}
	}
}
