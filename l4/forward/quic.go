package forward

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/session"
)

// A QUIC connection is known by the ids its two ends gave it, not by addresses
// (RFC 9000 §5.1). Backends show the ids they give in the first packets, those
// with long headers (RFC 8999 §5.1); later packets of the client carry one of
// them, without its length. The ids of all connections of a farm are kept with
// their backend, so that a client whose address has changed, most often because
// a NAT on its way forgot it, is brought to its backend by the first packet from
// the new one. Ids a backend gives later are encrypted: they are learned when a
// client that is known begins to use one.
//
// A client that moves on purpose changes to an id nobody has seen (RFC 9000
// §9.5); it is balanced as a new one.

const (
	// The shortest id that is remembered, and the longest (RFC 9000 §17.2):
	// shorter ones are the same for too many.
	connIDLeast, connIDMost = 4, 20
	// connIDTTL is how long an id lives that nobody uses, connIDRenew how often
	// use is noted.
	connIDTTL   = 10 * time.Minute
	connIDRenew = int64(2 * time.Minute)
	// connIDsEach bounds the ids that are learned from one flow of a client.
	connIDsEach = 32
	// maxConnIDs bounds those of a farm.
	maxConnIDs = 1 << 18
)

// quicKind names the tables of ids among those of sessions.
const quicKind farm.L4Persistence = "quic"

// quicPacket is what all versions of QUIC show of a packet (RFC 8999).
type quicPacket struct {
	// long packets have version and both ids. Of others to is all that follows
	// the first byte: the id, and what only its length tells apart from it.
	long     bool
	version  uint32 // 0: version negotiation
	to, from []byte
}

// parseQUIC reads the beginning of the first packet of a datagram:
//
//	long   1xxxxxxx version(32) length(8) to length(8) from …
//	short  0xxxxxxx to …
//
// The slices are part of b. It reports false for what is no such packet, or has
// ids that are longer than any version in use allows.
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

// connIDs are the ids of a farm's connections. All loops share them.
type connIDs struct {
	table   *session.Table
	lengths atomic.Uint32 // bit n: there are ids of n bytes
}

func newConnIDs(memory *session.Memory, owner uint64) *connIDs {
	ids := &connIDs{table: session.NewIn(memory, owner, maxConnIDs)}
	ids.table.Range(func(s session.Session) bool { // those of an earlier engine
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

// learn remembers that the connection with that id is at a backend.
func (ids *connIDs) learn(id []byte, backend uint32, now int64) {
	if len(id) < connIDLeast || len(id) > connIDMost {
		return
	}
	ids.note(len(id))
	ids.table.Put(id, backend, now)
}

// find returns the backend of the connection a packet is for, and how long its
// id is. At most one length for each that was learned is tried.
func (ids *connIDs) find(p *quicPacket, now int64) (backend uint32, length int, ok bool) {
	if p.long {
		backend, ok = ids.table.Get(p.to, now, connIDTTL)
		return backend, len(p.to), ok
	}
	for left := ids.lengths.Load(); left != 0; {
		length = bits.Len32(left) - 1 // the longest first: it says most
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
