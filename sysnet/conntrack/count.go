package conntrack

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Counts holds the numbers of connections with one mark. Closing connections appear only
// in Total.
type Counts struct {
	Total int
	// Established counts TCP and SCTP in the state of that name, and entries of protocols
	// without states.
	Established int
	// Pending counts TCP and SCTP entries during the handshake.
	Pending int
	// Closed counts TCP entries in the states time_wait and close, which `ct count`
	// ignores.
	Closed int
}

// Open returns the number of connections that are not closing.
func (c Counts) Open() int { return c.Established + c.Pending }

// Occupying returns the number of connections that `ct count` counts.
func (c Counts) Occupying() int { return c.Total - c.Closed }

// Count returns the counts by mark over all entries that match the filter.
func Count(ctx context.Context, f Filter) (map[uint32]Counts, error) {
	var found map[uint32]Counts
	err := dump(ctx, f, func() { found = map[uint32]Counts{} }, func(msg []byte) error {
		e := examine(msg)
		if !f.fits(e) {
			return nil
		}
		c := found[e.mark]
		c.Total++
		switch e.phase() {
		case established:
			c.Established++
		case pending:
			c.Pending++
		case closed:
			c.Closed++
		}
		found[e.mark] = c
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// maxWalks is the number of filtered table walks above which CountOnly reads all entries
// instead.
const maxWalks = 4

// CountOnly is Count for some backends. The kernel walks the whole table, but returns few
// entries.
func CountOnly(ctx context.Context, backends map[uint32]bool) (map[uint32]Counts, error) {
	filters := cover(slices.Sorted(maps.Keys(backends)), func(id uint32) bool { return backends[id] })
	if len(filters) > maxWalks {
		return Count(ctx, Farms())
	}
	sum := map[uint32]Counts{}
	for _, f := range filters {
		found, err := Count(ctx, f)
		if err != nil {
			return nil, err
		}
		maps.Copy(sum, found)
	}
	return sum, nil
}

// essence holds the fields of an entry that Count needs.
type essence struct {
	mark     uint32
	protocol uint8
	state    uint8 // of the protocol; 0 when it has none
}

type phase uint8

const (
	closing phase = iota
	closed
	pending
	established
)

// States of linux/netfilter/nf_conntrack_tcp.h and nf_conntrack_sctp.h.
const (
	tcpSynSent, tcpSynRecv, tcpEstablished, tcpTimeWait, tcpClose, tcpSynSent2 = 1, 2, 3, 7, 8, 9

	sctpCookieWait, sctpCookieEchoed, sctpEstablished = 2, 3, 4
)

func (e essence) phase() phase {
	switch e.protocol {
	case unix.IPPROTO_TCP:
		switch e.state {
		case tcpSynSent, tcpSynRecv, tcpSynSent2:
			return pending
		case tcpEstablished:
			return established
		case tcpTimeWait, tcpClose:
			return closed
		}
		return closing
	case unix.IPPROTO_SCTP:
		switch e.state {
		case sctpCookieWait, sctpCookieEchoed:
			return pending
		case sctpEstablished:
			return established
		}
		return closing
	}
	return established
}

// Attributes of linux/netfilter/nfnetlink_conntrack.h, including nested ones.
const (
	attrOrig      = 1
	attrProtoInfo = 4

	inTupleProto = 2
	inProtoNum   = 1
	inInfoTCP    = 1
	inInfoSCTP   = 3
	inState      = 1
)

// examine parses a message about an entry. Missing or malformed fields stay zero.
func examine(msg []byte) (e essence) {
	if len(msg) < netlinkHead+genHeader {
		return e
	}
	attrs := msg[netlinkHead+genHeader:]
	if v := attribute(attrs, attrMark); len(v) == 4 {
		e.mark = binary.BigEndian.Uint32(v)
	}
	if v := attribute(attribute(attribute(attrs, attrOrig), inTupleProto), inProtoNum); len(v) == 1 {
		e.protocol = v[0]
	}
	info := attribute(attrs, attrProtoInfo)
	for _, kind := range []uint16{inInfoTCP, inInfoSCTP} {
		if v := attribute(attribute(info, kind), inState); len(v) == 1 {
			e.state = v[0]
		}
	}
	return e
}

// attribute returns the payload of the first attribute of a type as a slice of b, or nil.
// An attribute starts at a multiple of four with its length (including the header) and its
// type, whose two upper bits are flags.
func attribute(b []byte, kind uint16) []byte {
	for len(b) >= 4 {
		size := int(binary.NativeEndian.Uint16(b))
		if size < 4 || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[4:size]
		}
		b = b[min(align(size), len(b)):]
	}
	return nil
}
