package rules

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/sysnet/nft"
)

// memory is how a farm recognises clients that return.
type memory struct {
	*SessionMap
	static string // the map of static sessions; empty without
	key    string // where packets have it
	mark   string // what of a packet has the mark of its backend
	ttl    farm.Seconds
}

// memory adds what a farm remembers clients by; nil when it does not.
func (g *compiledFarm) memory(mark string) (*memory, error) {
	m := &memory{SessionMap: Sessions(g.farm), mark: mark, ttl: max(1, g.l4.TTL)}
	if m.SessionMap == nil {
		return nil, nil
	}
	static := map[string]nft.Element{}
	for i := range g.states {
		s := &g.states[i]
		for _, client := range s.Sessions {
			key, err := SessionKey(g.l4.Persist, g.farm.VIP, client)
			if err != nil {
				return nil, fmt.Errorf("session %q of backend %d: %w", client, s.ID, err)
			}
			static[key] = nft.Element{Value: MarkText(s.ID), Owner: g.farm.ID}
		}
	}
	var key []string
	for _, x := range parts(g.l4.Persist, g.family) {
		key = append(key, x.of)
	}
	m.key = strings.Join(key, " . ")
	m.add(g.rules)
	if len(static) > 0 {
		m.static = "static" + strings.TrimPrefix(m.ID.Name, "session")
		g.rules.SetOf(nft.ID{Table: m.ID.Table, Name: m.static}, func() *nft.Set {
			return &nft.Set{Type: m.kind, Data: "mark", Owner: g.farm.ID, Elements: static}
		})
	}
	return m, nil
}

// element is under which key the map has the session of a packet.
func (m *memory) element() string {
	if m.Clients == nil {
		return m.key
	}
	return "jhash " + m.key + " " + hashes
}

// lookup sets the mark to that of a client's session, if there is one, and
// delivers; a static session wins. refresh ends the rule that finds the other.
func (m *memory) lookup(refresh, deliver string) (out []string) {
	set := m.mark + " set "
	if m.static != "" {
		out = append(out, set+m.key+" map @"+m.static, deliver)
	}
	of := m.key
	if m.Clients != nil {
		out, of = append(out, set+m.element()), m.mark
	}
	return append(out, strings.TrimSpace(set+of+" map @"+m.ID.Name+" "+refresh), deliver)
}

// remember adds the session of a packet, or renews it.
func (m *memory) remember(verb string) string {
	rule := fmt.Sprintf("%s @%s { %s timeout %ds : %s }", verb, m.ID.Name, m.element(), m.ttl, m.mark)
	if m.Clients != nil {
		rule += fmt.Sprintf(" update @%s { %s timeout %ds }", m.ClientsID.Name, m.key, m.ttl)
	}
	return rule
}

// forget removes the session of a packet: adding one would leave another that
// leads nowhere.
func (m *memory) forget() string {
	return fmt.Sprintf("delete @%s { %s : %s }", m.ID.Name, m.element(), m.mark)
}

// persistence is the memory of a farm whose connections are tracked.
type persistence struct{ *memory }

// persistence adds what a farm remembers clients by; nil when it does not.
func (g *compiledFarm) persistence() (*persistence, error) {
	m, err := g.memory("ct mark")
	if m == nil {
		return nil, err
	}
	p := &persistence{m}
	refresh := p.remember("update")
	if m.Clients == nil {
		refresh = p.key + " @" + p.ID.Name + " " + refresh // what was deleted stays so
	}
	g.chain(refreshChain(g.farm.ID)).Rules = []string{refresh}
	return p, nil
}

// lookup sends clients that are known to their backend, and gives their session
// all its time again.
func (p *persistence) lookup(deliver string) []string {
	return p.memory.lookup(p.remember("update"), deliver)
}

// learn remembers the choice.
func (p *persistence) learn() []string { return []string{p.forget(), p.remember("add")} }

// packetSessions is the memory of a farm of packet modes. Its flows stay where
// they are anyway; this is for new ones.
type packetSessions struct{ *memory }

// packetSessions adds what the farm remembers clients by; nil when it does not.
func (p *packetFarm) packetSessions() (*packetSessions, error) {
	m, err := p.memory("meta mark")
	if m == nil {
		return nil, err
	}
	return &packetSessions{m}, nil
}

// lookup sends clients that are known to their backend, and removes a session that
// leads nowhere.
func (s *packetSessions) lookup(deliver string) []string {
	return append(s.memory.lookup("", deliver), s.forget())
}

// learn adds the session.
func (s *packetSessions) learn() string { return s.remember("update") }

// touch gives the session, if there is one, all its time again: what was deleted
// stays so, and who has a static one needs no other.
func (s *packetSessions) touch() string {
	known := s.ID
	if s.Clients != nil {
		known = s.ClientsID
	}
	return s.key + " @" + known.Name + " " + s.learn()
}
