package rules

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// maxSessions bounds what a farm remembers; with more, new clients are chosen
// for anew each time.
const maxSessions = 1 << 18

// part is one part of the key of a session.
type part struct {
	kind string // type in a set
	of   string // where a packet has it
}

// parts of the keys by kind of persistence.
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

// SessionMap is where the kernel keeps the sessions of a farm.
type SessionMap struct {
	// ID names Map, from keys to marks of backends. The kind of key is part of the
	// name, so that another kind begins with nothing.
	ID  nft.ID
	Map *nft.Set
	// Clients are the keys themselves where Map is by a hash of them, because nft
	// takes no longer ones; nil elsewhere.
	ClientsID nft.ID
	Clients   *nft.Set

	kind string // of keys
}

// Sessions is where the sessions of a farm are; nil when nothing is remembered.
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

// Element is under which key Map has what SessionKey made.
func (m *SessionMap) Element(key string) (string, error) {
	if m.Clients == nil {
		return key, nil
	}
	hash, err := hashOf(key)
	return nft.Mark(hash), err
}

// add puts the maps into rules.
func (m *SessionMap) add(to *nft.Ruleset) {
	to.SetOf(m.ID, func() *nft.Set { return m.Map })
	if m.Clients != nil {
		to.SetOf(m.ClientsID, func() *nft.Set { return m.Clients })
	}
}

// keepSessions leaves a farm that is stopped what it remembers of clients, until
// that expires: it may be started again.
func (c *compiler) keepSessions(f *farm.Farm) {
	if m := Sessions(f); m != nil && Plain(f) == nil {
		m.add(c.rules)
	}
}

// SessionKey turns a client as operators write it ("10.0.0.1 . 4022") into a
// key of the map of sessions: its normal form is what nft takes.
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
