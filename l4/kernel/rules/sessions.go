package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// maxSessions limits the sessions of a farm. Beyond it, new clients get a new choice each
// time.
const maxSessions = 1 << 18

// part is a part of a session key.
type part struct {
	kind string // type in a set
	of   string // field of the packet
}

// parts returns the parts of keys for a kind of persistence.
func parts(p farm.L4Persistence, f *family) []part {
	saddr := part{f.address, f.ip + " saddr"}
	sport := part{"inet_service", "th sport"}
	dport := part{"inet_service", "th dport"}
	switch p {
	case farm.L4PersistSrc:
		return []part{saddr}
	case farm.L4PersistSrcPt:
		return []part{sport}
	case farm.L4PersistMAC:
		return []part{{"ether_addr", "ether saddr"}}
	case farm.L4PersistDst:
		return []part{{f.address, f.ip + " daddr"}}
	case farm.L4PersistDstPt:
		return []part{dport}
	case farm.L4PersistSrcSrc:
		return []part{saddr, sport}
	case farm.L4PersistSrcDest:
		return []part{saddr, dport}
	}
	return nil
}

// SessionMap describes the map of a farm's sessions in the kernel.
type SessionMap struct {
	// ID names Map, from keys to backend marks. The name contains the kind of key, so
	// another kind starts with an empty map.
	ID  nft.ID
	Map *nft.Set
	// Clients holds the keys if Map uses hashes of them, because nft takes no longer keys;
	// otherwise nil.
	ClientsID nft.ID
	Clients   *nft.Set

	kind string // of keys
}

// Sessions returns the session map of a farm, or nil without persistence.
func Sessions(f *farm.Farm) *SessionMap {
	ip := familyOf(f.VIP)
	list := parts(f.L4.Persist, ip)
	if list == nil {
		return nil
	}
	kinds := make([]string, len(list))
	for i, p := range list {
		kinds[i] = p.kind
	}
	table, of := Home(f.L4.NAT), fmt.Sprintf("%d_%s%s", f.ID, f.L4.Persist, ip.digit)
	options := fmt.Sprintf("flags dynamic,timeout; size %d; ", maxSessions)
	m := &SessionMap{kind: strings.Join(kinds, " . "), ID: nft.ID{Table: table, Name: "session" + of}}
	m.Map = &nft.Set{Type: m.kind, Data: "mark", Learned: true, Owner: f.ID, Options: options}
	if hashed(list) {
		m.Map.Type = "mark"
		m.ClientsID = nft.ID{Table: table, Name: "client" + of}
		m.Clients = &nft.Set{Type: m.kind, Learned: true, Owner: f.ID, Options: options}
	}
	return m
}

// Element returns the key in Map of a key made by SessionKey.
func (m *SessionMap) Element(key string) (string, error) {
	if m.Clients == nil {
		return key, nil
	}
	hash, err := hashOf(key)
	return nft.Mark(hash), err
}

// add adds the maps to the rules.
func (m *SessionMap) add(to *nft.Ruleset) {
	to.SetOf(m.ID, func() *nft.Set { return m.Map })
	if m.Clients != nil {
		to.SetOf(m.ClientsID, func() *nft.Set { return m.Clients })
	}
}

// keepSessions keeps the sessions of a stopped farm until they expire, because it may be
// started again.
func (c *compiler) keepSessions(f *farm.Farm) {
	if m := Sessions(f); m != nil && Plain(f) == nil {
		m.add(c.rules)
	}
}

// SessionKey converts a client as operators write it ("10.0.0.1 . 4022") to a key of the
// session map, in the normal form of nft.
func SessionKey(p farm.L4Persistence, vip netip.Addr, client string) (string, error) {
	key, err := farm.ParseL4Key(p, client)
	switch {
	case err != nil:
		return "", fmt.Errorf("no key of persistence %q: %w", p, err)
	case key.Addr.IsValid() && key.Addr.Is4() != vip.Unmap().Is4():
		return "", fmt.Errorf("%q is of another IP version than the vip %s", client, vip)
	}
	return key.Text(p), nil
}
