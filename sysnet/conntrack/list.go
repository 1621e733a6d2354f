package conntrack

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/mdlayher/netlink"
	ct "github.com/ti-mo/conntrack"
	"golang.org/x/sys/unix"
)

// MaxListed is the maximum number of entries of one List.
const MaxListed = 10_000

// Entry is one tracked connection. Ports are 0 for protocols without ports.
type Entry struct {
	Mark     uint32 `json:"mark"`
	Protocol uint8  `json:"protocol"`
	// Client sent its first packet to To. Backend responds to Via, which is the client, or
	// an address of the appliance if source NAT is in use.
	Client  netip.AddrPort `json:"client"`
	To      netip.AddrPort `json:"to"`
	Backend netip.AddrPort `json:"backend"`
	Via     netip.AddrPort `json:"via"`
	// State is the state of the protocol ("established", "syn_sent"), or "replied" or
	// "unreplied" for protocols without states.
	State string `json:"state"`
	// Timeout is the remaining lifetime of the entry without further packets, in seconds.
	Timeout uint32 `json:"timeout"`
	Zone    uint16 `json:"zone,omitempty"`
	Helper  string `json:"helper,omitempty"`
	// Packets and bytes from and to the client, or zero if accounting is off
	// (net.netfilter.nf_conntrack_acct).
	PacketsIn  uint64 `json:"packets_in"`
	BytesIn    uint64 `json:"bytes_in"`
	PacketsOut uint64 `json:"packets_out"`
	BytesOut   uint64 `json:"bytes_out"`
}

// Page is a part of the entries of a filter.
type Page struct {
	// Entries are in the order of Compare.
	Entries []Entry `json:"entries"`
	// Total is the number of all entries of the filter.
	Total int `json:"total"`
	// More is true if further entries follow. The next page starts after the last entry.
	More bool `json:"more,omitempty"`
}

// Compare orders entries by mark, client, destination, protocol and zone, which together
// identify an entry.
func Compare(a, b *Entry) int {
	return cmp.Or(cmp.Compare(a.Mark, b.Mark), a.Client.Compare(b.Client), a.To.Compare(b.To),
		cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Zone, b.Zone))
}

// List returns at most limit entries of the filter that sort after the given one, or from
// the first if it is nil. limit is 1 … MaxListed. Each call walks the whole table, so
// large pages are cheaper.
func List(ctx context.Context, f Filter, after *Entry, limit int) (Page, error) {
	if limit < 1 || limit > MaxListed {
		return Page{}, fmt.Errorf("%d entries asked for: 1 to %d are allowed", limit, MaxListed)
	}
	var found lowest
	var page Page
	err := dump(ctx, f, func() { found, page = lowest{}, Page{} }, func(msg []byte) error {
		what := examine(msg)
		if !f.fits(what) {
			return nil
		}
		page.Total++
		// Most entries of a large table are on other pages, which their mark shows.
		if after != nil && what.mark < after.Mark {
			return nil
		}
		if len(found) == limit && what.mark > found[0].Mark {
			page.More = true
			return nil
		}
		e, err := decode(msg)
		if err != nil {
			return err
		}
		if after != nil && Compare(&e, after) <= 0 {
			return nil
		}
		if len(found) < limit {
			heap.Push(&found, e)
			return nil
		}
		page.More = true
		if Compare(&e, &found[0]) < 0 {
			found[0] = e
			heap.Fix(&found, 0)
		}
		return nil
	})
	if err != nil {
		return Page{}, err
	}
	page.Entries = found
	slices.SortFunc(page.Entries, func(a, b Entry) int { return Compare(&a, &b) })
	// A growing table moves entries during a walk, so some appear twice.
	page.Entries = slices.CompactFunc(page.Entries, func(a, b Entry) bool { return Compare(&a, &b) == 0 })
	return page, nil
}

// lowest is a heap with the highest entry at the top.
type lowest []Entry

func (l lowest) Len() int           { return len(l) }
func (l lowest) Less(i, j int) bool { return Compare(&l[i], &l[j]) > 0 }
func (l lowest) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *lowest) Push(x any)        { *l = append(*l, x.(Entry)) }
func (l *lowest) Pop() any          { panic("never asked for") }

// decode parses a whole netlink message about an entry.
func decode(msg []byte) (Entry, error) {
	if len(msg) < netlinkHead+genHeader {
		return Entry{}, fmt.Errorf("tracked connections: a message of %d bytes", len(msg))
	}
	m := netlink.Message{Header: netlink.Header{Type: msgNew, Length: uint32(len(msg))}, Data: msg[netlinkHead:]}
	var event ct.Event
	if err := event.Unmarshal(m); err != nil {
		return Entry{}, fmt.Errorf("tracked connections: %w", err)
	}
	f := event.Flow
	return Entry{
		Mark:       f.Mark,
		Protocol:   f.TupleOrig.Proto.Protocol,
		Client:     netip.AddrPortFrom(f.TupleOrig.IP.SourceAddress, f.TupleOrig.Proto.SourcePort),
		To:         netip.AddrPortFrom(f.TupleOrig.IP.DestinationAddress, f.TupleOrig.Proto.DestinationPort),
		Backend:    netip.AddrPortFrom(f.TupleReply.IP.SourceAddress, f.TupleReply.Proto.SourcePort),
		Via:        netip.AddrPortFrom(f.TupleReply.IP.DestinationAddress, f.TupleReply.Proto.DestinationPort),
		State:      state(examine(msg), f.Status.SeenReply()),
		Timeout:    f.Timeout,
		Zone:       f.Zone,
		Helper:     f.Helper.Name,
		PacketsIn:  f.CountersOrig.Packets,
		BytesIn:    f.CountersOrig.Bytes,
		PacketsOut: f.CountersReply.Packets,
		BytesOut:   f.CountersReply.Bytes,
	}, nil
}

var (
	tcpStates  = []string{"none", "syn_sent", "syn_recv", "established", "fin_wait", "close_wait", "last_ack", "time_wait", "close", "syn_sent2"}
	sctpStates = []string{"none", "closed", "cookie_wait", "cookie_echoed", "established", "shutdown_sent", "shutdown_recd", "shutdown_ack_sent", "heartbeat_sent"}
)

func state(e essence, replied bool) string {
	var names []string
	switch e.protocol {
	case unix.IPPROTO_TCP:
		names = tcpStates
	case unix.IPPROTO_SCTP:
		names = sctpStates
	}
	switch {
	case int(e.state) < len(names):
		return names[e.state]
	case replied:
		return "replied"
	}
	return "unreplied"
}
