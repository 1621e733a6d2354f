package forward

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/revive"
)

// tuple is what is known of a connection or flow before a backend is chosen.
type tuple struct {
	client netip.AddrPort
	// local is the address the client used. Its port is always known, the
	// address may be unspecified unless needsLocal asks for it.
	local netip.AddrPort
	// port is the virtual port it came to; a client named by a PROXY header used another.
	port revive.Port
	// group is that of the name the client asks for; nil for the others.
	group *group
}

// hashOf is what of a tuple decides the backend of algorithms that hash.
type hashOf uint8

const (
	hashNone hashOf = iota
	hashSource
	hashSourcePort
	hashSourceBoth
	hashTarget
	hashTargetPort
	hashBoth // the same whichever end is the source
)

func hashing(a farm.L4Algorithm) hashOf {
	switch a {
	case farm.L4HashSrc:
		return hashSource
	case farm.L4HashSrcPt:
		return hashSourcePort
	case farm.L4HashFlow:
		return hashSourceBoth
	case farm.L4HashDst:
		return hashTarget
	case farm.L4HashDstPt:
		return hashTargetPort
	case farm.L4SymHash:
		return hashBoth
	}
	return hashNone
}

// of is the hash of a tuple; 0 for algorithms that need none.
func (h hashOf) of(t *tuple) uint64 {
	switch h {
	case hashSource:
		return addrHash(t.client.Addr())
	case hashSourcePort:
		return spread(uint64(t.client.Port()))
	case hashSourceBoth:
		return endHash(t.client)
	case hashTarget:
		return addrHash(t.local.Addr())
	case hashTargetPort:
		return spread(uint64(t.local.Port()))
	case hashBoth:
		return spread(endHash(t.client) + endHash(t.local))
	}
	return 0
}

func endHash(a netip.AddrPort) uint64 { return spread(addrHash(a.Addr()) + uint64(a.Port())) }

func addrHash(a netip.Addr) uint64 {
	b := a.As16()
	return spread(spread(binary.BigEndian.Uint64(b[:8])) ^ binary.BigEndian.Uint64(b[8:]))
}

// spread makes all bits depend on all others (the finaliser of MurmurHash3).
func spread(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// persistence is what clients are recognised by, and for how long.
type persistence struct {
	kind farm.L4Persistence
	ttl  time.Duration
}

func newPersistence(l *farm.L4) persistence {
	ttl := l.TTL
	if ttl == 0 {
		ttl = farm.DefaultL4TTL
	}
	return persistence{l.Persist, time.Duration(nanos(ttl))}
}

// appendKey appends the key of a tuple's session, as operators write it:
// "10.0.0.1", "4022", "10.0.0.1 . 4022".
func (p persistence) appendKey(dst []byte, t *tuple) []byte {
	switch p.kind {
	case farm.L4PersistSrc:
		return t.client.Addr().AppendTo(dst)
	case farm.L4PersistSrcPt:
		return strconv.AppendUint(dst, uint64(t.client.Port()), 10)
	case farm.L4PersistDst:
		return t.local.Addr().AppendTo(dst)
	case farm.L4PersistDstPt:
		return strconv.AppendUint(dst, uint64(t.local.Port()), 10)
	case farm.L4PersistSrcSrc:
		return appendPair(dst, t.client.Addr(), t.client.Port())
	case farm.L4PersistSrcDest:
		return appendPair(dst, t.client.Addr(), t.local.Port())
	}
	return dst
}

func appendPair(dst []byte, a netip.Addr, port uint16) []byte {
	dst = append(a.AppendTo(dst), " . "...)
	return strconv.AppendUint(dst, uint64(port), 10)
}

// needsLocal reports whether the farm has to know which of its addresses a
// client used, which is a question to the kernel when it listens on all.
func (f *farmTable) needsLocal() bool {
	return f.local.IsUnspecified() && (f.hash == hashTarget || f.hash == hashBoth || f.persist.kind == farm.L4PersistDst)
}
