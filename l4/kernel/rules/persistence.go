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

// persistence is how a farm recognises clients that return.
type persistence struct {
	name   string // of the map of sessions
	static string // of the map of static ones, empty without
	key    string
	hash   string // of the key, where the map is by that; clients then has the keys
	client string
	ttl    farm.Seconds
}

// Sessions names the map of a farm's sessions and its definition; nil when
// nothing is remembered. The kind of key is part of the name, so that another
// kind begins with nothing. kind is the type of keys, which the map has a hash
// of instead when nft takes no longer ones; then keys are in the set of clients.
func Sessions(f *farm.Farm) (id nft.ID, set *nft.Set, kind string) {
	fam := V4
	if f.VIP.Is6() && !f.VIP.Is4In6() {
		fam = V6
	}
	list := parts(f.L4.Persist, fam)
	if list == nil {
		return nft.ID{}, nil, ""
	}
	kinds := make([]string, len(list))
	for i, p := range list {
		kinds[i] = p.kind
	}
	kind = strings.Join(kinds, " . ")
	id = nft.ID{Table: Home(f.L4.NAT), Name: fmt.Sprintf("session%d_%s%s", f.ID, f.L4.Persist, fam.Digit)}
	set = &nft.Set{Type: kind, Data: "mark", Learned: true, Owner: f.ID,
		Options: fmt.Sprintf("flags dynamic,timeout; size %d; ", maxSessions)}
	if hashed(list) {
		set.Type = "mark"
	}
	return id, set, kind
}

// keepSessions leaves a farm that is stopped what it remembers of clients, until
// that expires: it may be started again.
func (c *compiler) keepSessions(f *farm.Farm) {
	id, set, kind := Sessions(f)
	if set == nil || Plain(f) != nil {
		return
	}
	c.rules.SetOf(id, func() *nft.Set { return set })
	if set.Type != kind {
		c.rules.SetOf(Clients(id), func() *nft.Set { return ClientSet(kind, f.ID) })
	}
}

// persistence adds what a farm remembers clients by; nil when it does not.
func (g *Group) persistence() (*persistence, error) {
	id, set, kind := Sessions(g.Farm)
	if set == nil {
		return nil, nil
	}
	static := map[string]nft.Element{}
	for i := range g.states {
		s := &g.states[i]
		for _, client := range s.Sessions {
			key, err := SessionKey(g.L4.Persist, g.Farm.VIP, client)
			if err != nil {
				return nil, fmt.Errorf("session %q of backend %d: %w", client, s.ID, err)
			}
			static[key] = nft.Element{Value: MarkText(s.ID), Owner: g.Farm.ID}
		}
	}
	p := &persistence{name: id.Name, ttl: max(1, g.L4.TTL)}
	var key []string
	for _, x := range parts(g.L4.Persist, g.Family) {
		key = append(key, x.of)
	}
	p.key = strings.Join(key, " . ")
	if set.Type != kind {
		p.hash, p.client = "jhash "+p.key+" "+hashes, Clients(id).Name
		g.rules.SetOf(Clients(id), func() *nft.Set { return ClientSet(kind, g.Farm.ID) })
	}
	g.rules.SetOf(id, func() *nft.Set { return set })
	if len(static) > 0 {
		p.static = "static" + strings.TrimPrefix(id.Name, "session")
		g.rules.SetOf(InetID(p.static), func() *nft.Set {
			return &nft.Set{Type: kind, Data: "mark", Owner: g.Farm.ID, Elements: static}
		})
	}
	chain := g.rules.ChainOf(InetID(refreshChain(g.Farm.ID)), func() *nft.Chain { return &nft.Chain{Owner: g.Farm.ID} })
	chain.Rules = []string{p.touch()}
	if p.hash == "" {
		chain.Rules[0] = p.key + " @" + p.name + " " + chain.Rules[0] // what was deleted stays so
	}
	return p, nil
}

// touch gives a session all its time again.
func (p *persistence) touch() string { return p.remember("update") }

// remember adds the mark for the key, or renews it.
func (p *persistence) remember(verb string) string {
	if p.hash == "" {
		return fmt.Sprintf("%s @%s { %s timeout %ds : ct mark }", verb, p.name, p.key, p.ttl)
	}
	return fmt.Sprintf("%s @%s { %s timeout %ds : ct mark } update @%s { %s timeout %ds }", verb, p.name, p.hash, p.ttl, p.client, p.key, p.ttl)
}

// lookup sends clients that are known to their backend; a static session wins.
func (p *persistence) lookup(deliver string) []string {
	var out []string
	if p.static != "" {
		out = append(out, "ct mark set "+p.key+" map @"+p.static, deliver)
	}
	if p.hash != "" {
		return append(out, "ct mark set "+p.hash, "ct mark set ct mark map @"+p.name+" "+p.touch(), deliver)
	}
	return append(out, "ct mark set "+p.key+" map @"+p.name+" "+p.touch(), deliver)
}

// learn remembers the choice. An element that is there names a backend that
// cannot be used: adding would leave it.
func (p *persistence) learn() []string {
	key := p.key
	if p.hash != "" {
		key = p.hash
	}
	return []string{fmt.Sprintf("delete @%s { %s : ct mark }", p.name, key), p.remember("add")}
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
