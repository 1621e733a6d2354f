package forward

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/revive"
)

// tuple holds the known properties of a connection or flow before the selection.
type tuple struct {
	client netip.AddrPort
	// local is the address used by the client. The port is always known; the address may be
	// unspecified unless needsLocal.
	local netip.AddrPort
	// port is the virtual port. A PROXY header may contain another one.
	port revive.Port
	// group is the group of the client's server name; nil without one.
	group *group
}

// hashOf selects the parts of a tuple that hashing algorithms use.
type hashOf uint8

const (
	hashNone hashOf = iota
	hashSource
	hashSourcePort
	hashSourceBoth
	hashTarget
	hashTargetPort
	hashBoth // the same in both directions
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

// of returns the hash of a tuple; 0 for algorithms without one.
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

// persistence is the session key of a farm and its lifetime.
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

// appendKey appends a tuple's session key in text form: "10.0.0.1", "4022", "10.0.0.1 .
// 4022".
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

// needsLocal reports whether the farm needs the local address used by a client, which costs
// a system call on a wildcard listener.
func (f *farmTable) needsLocal() bool {
	return f.local.IsUnspecified() && (f.hash == hashTarget || f.hash == hashBoth || f.persist.kind == farm.L4PersistDst)
}
