package rules

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/sysnet/nft"
)

// packetSessions is how a farm of packet modes recognises clients that return.
// Its flows stay where they are anyway; this is for new ones.
type packetSessions struct {
	name, static string // maps; static is empty without
	key, hashed  string // hashed is the key of name when nft takes no longer ones
	client       string // set of keys then
	ttl          uint32
}

// packetSessions checks what the farm remembers clients by; nil when it does
// not.
func (p *PacketFarm) packetSessions() (*packetSessions, error) {
	id, set, kind := Sessions(p.Farm)
	if set == nil {
		return nil, nil
	}
	static := map[string]nft.Element{}
	for i := range p.states {
		s := &p.states[i]
		for _, client := range s.Sessions {
			key, err := SessionKey(p.L4.Persist, p.Farm.VIP, client)
			if err != nil {
				return nil, fmt.Errorf("session %q of backend %d: %w", client, s.ID, err)
			}
			static[key] = nft.Element{Value: MarkText(s.ID), Owner: p.Farm.ID}
		}
	}
	out := &packetSessions{name: id.Name, ttl: uint32(max(1, p.L4.TTL))}
	var key []string
	for _, x := range parts(p.L4.Persist, p.Family) {
		key = append(key, x.of)
	}
	out.key = strings.Join(key, " . ")
	if set.Type != kind {
		out.hashed, out.client = "jhash "+out.key+" "+hashes, Clients(id).Name
		p.rules.SetOf(Clients(id), func() *nft.Set { return ClientSet(kind, p.Farm.ID) })
	}
	p.rules.SetOf(id, func() *nft.Set { return set })
	if len(static) > 0 {
		out.static = "static" + strings.TrimPrefix(id.Name, "session")
		p.rules.SetOf(NetdevID(out.static), func() *nft.Set {
			return &nft.Set{Type: kind, Data: "mark", Owner: p.Farm.ID, Elements: static}
		})
	}
	return out, nil
}

// lookup sends clients that are known to their backend; a static session wins.
// A session that leads nowhere is removed.
func (s *packetSessions) lookup(deliver string) (out []string) {
	if s.static != "" {
		out = append(out, "meta mark set "+s.key+" map @"+s.static, deliver)
	}
	if s.hashed != "" {
		out = append(out, "meta mark set "+s.hashed, "meta mark set meta mark map @"+s.name)
	} else {
		out = append(out, "meta mark set "+s.key+" map @"+s.name)
	}
	return append(out, deliver, fmt.Sprintf("delete @%s { %s : meta mark }", s.name, s.element()))
}

// learn adds the session.
func (s *packetSessions) learn() string {
	rule := fmt.Sprintf("update @%s { %s timeout %ds : meta mark }", s.name, s.element(), s.ttl)
	if s.client != "" {
		rule += fmt.Sprintf(" update @%s { %s timeout %ds }", s.client, s.key, s.ttl)
	}
	return rule
}

// touch gives the session, if there is one, all its time again: what was deleted
// stays so, and who has a static one needs no other.
func (s *packetSessions) touch() string {
	known := s.name
	if s.client != "" {
		known = s.client
	}
	return s.key + " @" + known + " " + s.learn()
}

func (s *packetSessions) element() string {
	if s.hashed != "" {
		return s.hashed
	}
	return s.key
}
