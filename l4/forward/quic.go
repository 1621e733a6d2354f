package forward

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// A QUIC connection is identified by the IDs chosen by its two ends, not by addresses (RFC
// 9000 §5.1). Backends reveal their IDs in the first packets, which have long headers (RFC
// 8999 §5.1). Later packets of the client contain one of them, without its length. The IDs of
// a farm's connections are stored with their backend. A client's address may change, usually
// because a NAT dropped its mapping; its first packet then still reaches the same backend.
// IDs issued later are encrypted; they are learned when a known client begins to use one.
//
// A client that migrates deliberately uses an unknown ID (RFC 9000 §9.5) and is balanced as
// a new one.

const (
	// Shortest and longest ID stored (RFC 9000 §17.2). Shorter ones are not unique enough.
	connIDLeast, connIDMost = 4, 20
	// connIDTTL is the lifetime of an unused ID, connIDRenew the interval at which use is
	// recorded.
	connIDTTL   = 10 * time.Minute
	connIDRenew = int64(2 * time.Minute)
	// connIDsEach bounds the IDs learned from one flow's client.
	connIDsEach = 32
	// maxConnIDs bounds the IDs of a farm.
	maxConnIDs = 1 << 18
)

// quicKind identifies ID tables among session tables.
const quicKind farm.L4Persistence = "quic"

// quicPacket holds the version-independent properties of a QUIC packet (RFC 8999).
type quicPacket struct {
	// long packets have a version and both IDs. For short ones, to is everything after the
	// first byte: the ID and data after it, whose boundary is unknown.
	long     bool
	version  uint32 // 0: version negotiation
	to, from []byte
}

// parseQUIC parses the beginning of the first packet of a datagram:
//
//	long   1xxxxxxx version(32) length(8) to length(8) from …
//	short  0xxxxxxx to …
//
// The slices are part of b. It returns false for other data, and for IDs longer than any
// current version allows.
func parseQUIC(b []byte) (p quicPacket, ok bool) {
	if len(b) == 0 {
		return p, false
	}
	if b[0]&0x80 == 0 {
		return quicPacket{to: b[1:]}, true
	}
	if len(b) < 7 {
		return p, false
	}
	p = quicPacket{long: true, version: binary.BigEndian.Uint32(b[1:])}
	rest := b[5:]
	if p.to, rest, ok = cutConnID(rest); !ok {
		return quicPacket{}, false
	}
	if p.from, _, ok = cutConnID(rest); !ok {
		return quicPacket{}, false
	}
	return p, true
}

func cutConnID(b []byte) (id, rest []byte, ok bool) {
	if len(b) == 0 || int(b[0]) > connIDMost || len(b)-1 < int(b[0]) {
		return nil, nil, false
	}
	n := 1 + int(b[0])
	return b[1:n], b[n:], true
}

// connIDs holds the IDs of a farm's connections, shared by all loops.
type connIDs struct {
	table   *session.Table
	lengths atomic.Uint32 // bit n: there are IDs of n bytes
}

func newConnIDs(memory *session.Memory, owner uint64) *connIDs {
	ids := &connIDs{table: session.NewIn(memory, owner, maxConnIDs)}
	ids.table.Range(func(s session.Session) bool { // of an earlier engine
		ids.note(len(s.Key))
		return true
	})
	return ids
}

func (ids *connIDs) note(length int) {
	if bit := uint32(1) << (length & 31); ids.lengths.Load()&bit == 0 {
		ids.lengths.Or(bit)
	}
}

// learn stores the backend of the connection with that ID.
func (ids *connIDs) learn(id []byte, backend uint32, now int64) {
	if len(id) < connIDLeast || len(id) > connIDMost {
		return
	}
	ids.note(len(id))
	ids.table.Put(id, backend, now)
}

// find returns the backend of a packet's connection and the length of its ID. It tries each
// learned length at most once.
func (ids *connIDs) find(p *quicPacket, now int64) (backend uint32, length int, ok bool) {
	if p.long {
		backend, ok = ids.table.Get(p.to, now, connIDTTL)
		return backend, len(p.to), ok
	}
	for left := ids.lengths.Load(); left != 0; {
		length = bits.Len32(left) - 1 // the longest first, because it is most specific
		left &^= 1 << length
		if length > len(p.to) {
			continue
		}
		if backend, ok = ids.table.Get(p.to[:length], now, connIDTTL); ok {
			return backend, length, true
		}
	}
	return 0, 0, false
}
